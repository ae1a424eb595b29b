(** Certain answers (theory 1.1): Pass is maximal, Prop exact, for the set operators and
    the join; and the printed form of Pass(SetDiff) refuted.  C is the closed region. *)
From Coq Require Import Bool List.

Section Invariants.
  Variable T : Type.
  Definition fin (R T0 C : T -> bool) := (* a completion: all of T0, and new tuples outside of C *)
    (forall t, T0 t = true -> R t = true) /\ (forall t, R t = true -> T0 t = true \/ C t = false).
  Lemma fin_refl T0 C : fin T0 T0 C. Proof. split; auto. Qed.
  Hypothesis eqb : forall a b : T, {a = b} + {a <> b}.
  Definition with1 (T0 : T -> bool) u := fun t => if eqb t u then true else T0 t.
  Lemma fin_add T0 C u : C u = false -> fin (with1 T0 u) T0 C.
  Proof.
    intros H; unfold with1; split; intros t K.
    - destruct (eqb t u); auto.
    - destruct (eqb t u); subst; auto.
  Qed.
  Lemma with1_same T0 u : with1 T0 u u = true.
  Proof. unfold with1; destruct (eqb u u); congruence. Qed.

  Variables T1 T2 C1 C2 : T -> bool.
  Definition certain (op : (T -> bool) -> (T -> bool) -> T -> bool) t :=
    forall R1 R2, fin R1 T1 C1 -> fin R2 T2 C2 -> op R1 R2 t = true.
  (** region p may be announced as closed: no completion gives an unpassed tuple in it *)
  Definition closable (op : (T -> bool) -> (T -> bool) -> T -> bool) (passed p : T -> bool) :=
    forall R1 R2, fin R1 T1 C1 -> fin R2 T2 C2 -> forall t, p t = true -> op R1 R2 t = true -> passed t = true.

  Definition minus (A B : T -> bool) t := A t && negb (B t).
  Definition inter (A B : T -> bool) t := A t && B t.
  Definition union (A B : T -> bool) t := A t || B t.

  (** E1, corrected: exact *)
  Theorem pass_minus t : certain minus t <-> T1 t = true /\ T2 t = false /\ C2 t = true.
  Proof.
    split.
    - intros H. pose proof (H _ _ (fin_refl _ _) (fin_refl _ _)) as A.
      apply andb_true_iff in A as [A B]. apply negb_true_iff in B. repeat split; auto.
      destruct (C2 t) eqn:E; [reflexivity|].
      pose proof (H _ _ (fin_refl T1 C1) (fin_add T2 C2 t E)) as K.
      unfold minus in K; rewrite with1_same, andb_false_r in K; discriminate.
    - intros (A & B & D) R1 R2 [F1 _] [_ G2]. unfold minus; rewrite (F1 _ A); simpl.
      apply negb_true_iff. destruct (R2 t) eqn:E; [|reflexivity].
      destruct (G2 _ E); congruence.
  Qed.
  Theorem pass_inter t : certain inter t <-> T1 t = true /\ T2 t = true.
  Proof.
    split.
    - intros H. pose proof (H _ _ (fin_refl _ _) (fin_refl _ _)) as A. apply andb_true_iff in A; exact A.
    - intros [A B] R1 R2 [F1 _] [F2 _]; unfold inter; rewrite (F1 _ A), (F2 _ B); reflexivity.
  Qed.
  Theorem pass_union t : certain union t <-> T1 t = true \/ T2 t = true.
  Proof.
    split.
    - intros H. pose proof (H _ _ (fin_refl _ _) (fin_refl _ _)) as A. apply orb_true_iff in A; exact A.
    - intros [A|A] R1 R2 [F1 _] [F2 _]; unfold union; rewrite ?(F1 _ A), ?(F2 _ A), ?orb_true_r; reflexivity.
  Qed.

  (** Prop of the set operators, exact regions of theory 1.3 *)
  Definition op_closed (op : (T -> bool) -> (T -> bool) -> T -> bool) passed t :=
    forall R1 R2, fin R1 T1 C1 -> fin R2 T2 C2 -> op R1 R2 t = true -> passed t = true.
  Theorem prop_minus passed t :
    op_closed minus passed t <-> passed t = true \/ T2 t = true \/ (C1 t = true /\ T1 t = false).
  Proof.
    split.
    - intros H. destruct (passed t) eqn:P; auto. destruct (T2 t) eqn:E2; auto. right; right.
      assert (N : forall R1, fin R1 T1 C1 -> R1 t = false).
      { intros R1 F. destruct (R1 t) eqn:E; [|reflexivity].
        specialize (H R1 T2 F (fin_refl _ _)). unfold minus in H; rewrite E, E2 in H; simpl in H. specialize (H eq_refl); congruence. }
      split; [|apply (N T1), fin_refl].
      destruct (C1 t) eqn:E; [reflexivity|]. pose proof (N _ (fin_add T1 C1 t E)) as K. rewrite with1_same in K; discriminate.
    - intros [P|[P|[P Q]]] R1 R2 [F1 G1] [F2 G2] K; auto; apply andb_true_iff in K as [K L].
      + rewrite (F2 _ P) in L; discriminate.
      + destruct (G1 _ K); congruence.
  Qed.
  Theorem prop_inter passed t : (passed t = true <-> T1 t = true /\ T2 t = true) ->
    (op_closed inter passed t <-> passed t = true \/ (C1 t = true /\ T1 t = false) \/ (C2 t = true /\ T2 t = false)).
  Proof.
    intros HP; split.
    - intros H. destruct (passed t) eqn:P; auto. right.
      destruct (C1 t) eqn:E1, (T1 t) eqn:X1; auto; right;
        (destruct (C2 t) eqn:E2, (T2 t) eqn:X2; auto; exfalso).
      all: set (R1 := if T1 t then T1 else with1 T1 t); set (R2 := if T2 t then T2 else with1 T2 t).
      all: assert (K1 : R1 t = true) by (subst R1; rewrite X1; rewrite ?with1_same; auto).
      all: assert (K2 : R2 t = true) by (subst R2; rewrite X2; rewrite ?with1_same; auto).
      all: assert (F1 : fin R1 T1 C1) by (subst R1; rewrite X1; auto using fin_refl, fin_add).
      all: assert (F2 : fin R2 T2 C2) by (subst R2; rewrite X2; auto using fin_refl, fin_add).
      all: specialize (H R1 R2 F1 F2); unfold inter in H; rewrite K1, K2 in H; simpl in H; specialize (H eq_refl); try congruence;
           destruct HP as [_ HP]; specialize (HP (conj eq_refl eq_refl)); congruence.
    - intros [P|[[P Q]|[P Q]]] R1 R2 [F1 G1] [F2 G2] K; auto; apply andb_true_iff in K as [K L].
      + destruct (G1 _ K); congruence.
      + destruct (G2 _ L); congruence.
  Qed.
  Theorem prop_union passed t : (passed t = true <-> T1 t = true \/ T2 t = true) ->
    (op_closed union passed t <-> passed t = true \/ (C1 t = true /\ C2 t = true)).
  Proof.
    intros HP; split.
    - intros H. destruct (passed t) eqn:P; auto. right.
      split.
      + destruct (C1 t) eqn:E; [reflexivity|]. specialize (H _ _ (fin_add T1 C1 t E) (fin_refl T2 C2)).
        unfold union in H; rewrite with1_same in H; specialize (H eq_refl); congruence.
      + destruct (C2 t) eqn:E; [reflexivity|]. specialize (H _ _ (fin_refl T1 C1) (fin_add T2 C2 t E)).
        unfold union in H; rewrite with1_same, orb_true_r in H; specialize (H eq_refl); congruence.
    - intros [P|[P Q]] R1 R2 [F1 G1] [F2 G2] K; auto; apply HP. apply orb_true_iff in K as [K|K].
      + destruct (G1 _ K); [auto|congruence].
      + destruct (G2 _ K); [auto|congruence].
  Qed.

  (** J1, exact: a pair (a, b) may still come iff one of them is new and the other is
      there or may come.  A region of left tuples that is closed and has no kept left
      tuple -- each partner of which is closed -- gives no later pair. *)
  Variable joins : T -> T -> bool.
  Definition later a b := joins a b = true /\ ((C1 a = false /\ (T2 b = true \/ C2 b = false)) \/ (C2 b = false /\ (T1 a = true \/ C1 a = false))).
  Definition kept1 a := T1 a = true /\ exists b, joins a b = true /\ C2 b = false.
  Theorem J1 (p : T -> bool) :
    (forall a, p a = true -> C1 a = true) ->
    ((forall a, p a = true -> ~ kept1 a) <-> (forall a b, p a = true -> ~ later a b)).
  Proof.
    intros HC; split; intros H a.
    - intros b P [J [[X _]|[X [Y|Y]]]]; try (rewrite (HC _ P) in *; discriminate).
      apply (H a P); split; [exact Y|exists b; auto].
    - intros P [A [b [J B]]]. apply (H a b P). split; [exact J|right; auto].
  Qed.
  (** Purge1 (003): a left tuple is needed by no later pair iff every partner is closed *)
  Theorem purge1 a : T1 a = true -> C1 a = true ->
    ((forall b, joins a b = true -> C2 b = true) <-> (forall b, ~ later a b)).
  Proof.
    intros A CA; split.
    - intros H b [J [[X _]|[X _]]]; [congruence|rewrite (H _ J) in X; discriminate].
    - intros H b J. destruct (C2 b) eqn:E; [reflexivity|exfalso; apply (H b); split; auto].
  Qed.
End Invariants.

(** E1 as printed in the page: unsound on one tuple *)
Theorem printed_E1_is_unsound : exists (T1 T2 C1 C2 : unit -> bool) t,
  (T1 t = true /\ T2 t = true /\ C2 t = true) /\ ~ certain unit T1 T2 C1 C2 (minus unit) t.
Proof.
  exists (fun _ => true), (fun _ => true), (fun _ => false), (fun _ => true), tt; split; [auto|].
  intros H. specialize (H _ _ (fin_refl unit (fun _ => true) (fun _ => false)) (fin_refl unit (fun _ => true) (fun _ => true))). discriminate.
Qed.
