(** Operators on canonical histories: what the steps give in sum is the relational
    operator on all that came.  With Data.D0 this is decode(out) = op(decode(in)). *)
From Coq Require Import List Permutation Bool Arith Lia.
From Cedilla Require Import Events.
Import ListNotations.

Section Ops.
  Variables (T R : Type) (holds : R -> T -> bool).
  Notation ev := (nat * event T R)%type.

  Definition tuples1 (e : ev) : list T := match e with (_, ET t) => [t] | _ => [] end.
  Definition all (h : list ev) : list T := flat_map tuples1 h.
  Definition inp1 (i : nat) (e : ev) : list T := match e with (j, ET t) => if Nat.eqb i j then [t] else [] | _ => [] end.
  Definition inp (i : nat) (h : list ev) : list T := flat_map (inp1 i) h.
  Definition reg1 (i : nat) (e : ev) : list R := match e with (j, EP r) => if Nat.eqb i j then [r] else [] | _ => [] end.
  Definition regs (i : nat) (h : list ev) := flat_map (reg1 i) h.

  (** *** Select, project, window: tuple by tuple *)
  Definition step_flat (f : T -> list T) (h : list ev) (e : ev) : list T := flat_map f (tuples1 e).
  Theorem flat_correct f e : steps (step_flat f) [] e = flat_map f (all e).
  Proof.
    induction e as [|a e IH] using rev_ind; [reflexivity|].
    rewrite steps_app, IH. unfold all. rewrite !flat_map_app; simpl. rewrite app_nil_r; reflexivity.
  Qed.
  Lemma flat_map_filter (q : T -> bool) l : flat_map (fun t => if q t then [t] else []) l = filter q l.
  Proof. induction l as [|t l IH]; simpl; [reflexivity|destruct (q t); simpl; rewrite IH; reflexivity]. Qed.
  Corollary select_correct (q : T -> bool) e : steps (step_flat (fun t => if q t then [t] else [])) [] e = filter q (all e).
  Proof. rewrite flat_correct; apply flat_map_filter. Qed.
  Corollary project_correct (g : T -> T) e : steps (step_flat (fun t => [g t])) [] e = map g (all e).
  Proof. rewrite flat_correct, flat_map_concat_map. induction (all e) as [|t l IH]; simpl; [reflexivity|rewrite IH; reflexivity]. Qed.

  (** *** Union (bag) of the inputs 0 and 1 *)
  Definition binary (e : list ev) := forall i x, In (i, x) e -> i < 2.
  Lemma binary_app e a : binary (e ++ [a]) -> binary e.
  Proof. intros H i x I; apply (H i x); apply in_or_app; auto. Qed.
  Theorem union_correct e : binary e ->
    Permutation (steps (step_flat (fun t => [t])) [] e) (inp 0 e ++ inp 1 e).
  Proof.
    intros B; rewrite flat_correct.
    assert (E : flat_map (fun t : T => [t]) (all e) = all e).
    { induction (all e) as [|t l IH]; simpl; [reflexivity|rewrite IH; reflexivity]. }
    rewrite E; clear E. induction e as [|[i x] e IH]; [constructor|].
    assert (B' : binary e) by (intros j y I; apply (B j y); right; exact I).
    assert (Hi : i < 2) by (apply (B i x); left; reflexivity).
    unfold all, inp in *; simpl. destruct x as [t|r]; simpl; [|apply IH, B'].
    destruct i as [|[|]]; [|clear Hi|lia]; simpl.
    - constructor; apply IH, B'.
    - apply Permutation_cons_app, IH, B'.
  Qed.

  (** *** Join (inner, bag), symmetric, without purging *)
  Variable J : T -> T -> list T.
  Definition step_join (h : list ev) (e : ev) : list T :=
    match e with
    | (0, ET t) => flat_map (J t) (inp 1 h)
    | (1, ET u) => flat_map (fun t => J t u) (inp 0 h)
    | _ => []
    end.
  Definition pairs (l r : list T) := flat_map (fun t => flat_map (J t) r) l.
  Lemma pairs_r l r u : Permutation (pairs l (r ++ [u])) (pairs l r ++ flat_map (fun t => J t u) l).
  Proof.
    unfold pairs; induction l as [|t l IH]; simpl; [constructor|].
    rewrite flat_map_app; simpl; rewrite app_nil_r, <- !app_assoc.
    apply Permutation_app_head. rewrite IH.
    rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
  Qed.
  Theorem join_correct e : binary e -> Permutation (steps step_join [] e) (pairs (inp 0 e) (inp 1 e)).
  Proof.
    induction e as [|[i x] e IH] using rev_ind; intros B; [constructor|].
    rewrite steps_app. specialize (IH (binary_app _ _ B)). simpl app.
    assert (Hi : i < 2) by (apply (B i x), in_or_app; right; left; reflexivity).
    unfold inp in *; rewrite !flat_map_app; simpl.
    destruct x as [t|r]; simpl.
    - destruct i as [|[|]]; [| |lia]; simpl; rewrite !app_nil_r.
      + unfold pairs at 1; rewrite flat_map_app; simpl; rewrite app_nil_r.
        apply Permutation_app_tail; exact IH.
      + rewrite pairs_r. apply Permutation_app_tail; exact IH.
    - destruct i as [|[|]]; [| |lia]; simpl; rewrite !app_nil_r; exact IH.
  Qed.

  (** *** Join with purging (Purge1, Purge2): a kept set that loses only tuples whose
      every partner is closed gives the same results on grammatical inputs *)
  Definition gram (e : list ev) := forall a i t b, e = a ++ (i, ET t) :: b -> forall r, In r (regs i a) -> holds r t = false.
  Lemma gram_app e a : gram (e ++ [a]) -> gram e.
  Proof. intros H x i t y E r I. apply (H x i t (y ++ [a])); [rewrite E, <- app_assoc; reflexivity|exact I]. Qed.
  Definition closed (P : list R) (t : T) := exists r, In r P /\ holds r t = true.
  Variables keep0 keep1 : list ev -> T -> bool.
  Hypothesis keep0_ok : forall h t, keep0 h t = false -> forall u, J t u <> [] -> closed (regs 1 h) u.
  Hypothesis keep1_ok : forall h u, keep1 h u = false -> forall t, J t u <> [] -> closed (regs 0 h) t.
  Definition step_purged (h : list ev) (e : ev) : list T :=
    match e with
    | (0, ET t) => flat_map (J t) (filter (keep1 h) (inp 1 h))
    | (1, ET u) => flat_map (fun t => J t u) (filter (keep0 h) (inp 0 h))
    | _ => []
    end.
  Lemma filter_none (f : T -> list T) k l : (forall t, k t = false -> f t = []) -> flat_map f (filter k l) = flat_map f l.
  Proof.
    intros H; induction l as [|t l IH]; simpl; [reflexivity|].
    destruct (k t) eqn:E; simpl; rewrite IH; [reflexivity|rewrite (H _ E); reflexivity].
  Qed.
  Theorem purge_correct e : gram e -> steps step_purged [] e = steps step_join [] e.
  Proof.
    induction e as [|[i x] e IH] using rev_ind; intros G; [reflexivity|].
    rewrite !steps_app, (IH (gram_app _ _ G)); simpl; f_equal.
    assert (open_ : forall t, x = ET t -> ~ closed (regs i e) t).
    { intros t -> [r [I E]]. rewrite (G e i t [] eq_refl r I) in E; discriminate. }
    destruct i as [|[|]], x as [t|r]; try reflexivity.
    - apply filter_none; intros u K. destruct (J t u) eqn:E; [reflexivity|exfalso].
      apply (open_ t eq_refl), (keep1_ok _ _ K). rewrite E; discriminate.
    - apply filter_none; intros u K. destruct (J u t) eqn:E; [reflexivity|exfalso].
      apply (open_ t eq_refl), (keep0_ok _ _ K). rewrite E; discriminate.
  Qed.

  (** *** Aggregate: rows of closed groups *)
  Variable G : Type.
  Hypothesis G_dec : forall a b : G, {a = b} + {a <> b}.
  Variable grp : T -> G.
  Variable agg : G -> list T -> T.
  Variable gc : list R -> G -> bool.     (* the region algebra's test of a closed fibre *)
  Hypothesis gc_sound : forall P g, gc P g = true -> forall t, grp t = g -> closed P t.
  Hypothesis gc_mono : forall P p g, gc P g = true -> gc (P ++ [p]) g = true.

  Definition is (g : G) (t : T) := if G_dec (grp t) g then true else false.
  Definition row (h : list ev) (g : G) := agg g (filter (is g) (inp 0 h)).
  Definition keys (h : list ev) := nodup G_dec (map grp (inp 0 h)).
  Definition step_agg (h : list ev) (e : ev) : list T :=
    match e with
    | (0, EP r) => map (row h) (filter (fun g => gc (regs 0 h ++ [r]) g && negb (gc (regs 0 h) g)) (keys h))
    | _ => []
    end.
  Definition closed_rows (h : list ev) := map (row h) (filter (gc (regs 0 h)) (keys h)).

  Lemma filter_split (p q : G -> bool) l : (forall g, p g = true -> q g = true) ->
    Permutation (filter q l) (filter p l ++ filter (fun g => q g && negb (p g)) l).
  Proof.
    intros H; induction l as [|g l IH]; simpl; [constructor|].
    destruct (p g) eqn:P; destruct (q g) eqn:Q; simpl.
    - constructor; exact IH.
    - rewrite (H _ P) in Q; discriminate.
    - apply Permutation_cons_app; exact IH.
    - exact IH.
  Qed.
  Lemma keys_snoc h t : forall g, In g (keys (h ++ [(0, ET t)])) <-> In g (keys h) \/ g = grp t.
  Proof.
    intros g; unfold keys, inp; rewrite !nodup_In, flat_map_app, map_app, in_app_iff; simpl.
    intuition congruence.
  Qed.
  Theorem aggregate_correct e : gram e -> Permutation (steps step_agg [] e) (closed_rows e).
  Proof.
    induction e as [|[i x] e IH] using rev_ind; intros Gr; [constructor|].
    rewrite steps_app; specialize (IH (gram_app _ _ Gr)); change ([] ++ e) with e.
    destruct (Nat.eq_dec i 0) as [->|N].
    2:{ assert (Ei : inp 0 (e ++ [(i, x)]) = inp 0 e).
        { unfold inp; rewrite flat_map_app; destruct i; [lia|destruct x; simpl; rewrite app_nil_r; reflexivity]. }
        assert (Er : regs 0 (e ++ [(i, x)]) = regs 0 e).
        { unfold regs; rewrite flat_map_app; destruct i; [lia|destruct x; simpl; rewrite app_nil_r; reflexivity]. }
        assert (S : step_agg e (i, x) = []) by (destruct i; [lia|reflexivity]).
        rewrite S, app_nil_r. unfold closed_rows, keys, row. rewrite Ei, Er. exact IH. }
    destruct x as [t|r].
    - simpl; rewrite app_nil_r.
      assert (Rg : regs 0 (e ++ [(0, ET t)]) = regs 0 e) by (unfold regs; rewrite flat_map_app; simpl; apply app_nil_r).
      assert (O : forall g, gc (regs 0 e) g = true -> grp t <> g).
      { intros g Hg E. destruct (gc_sound _ _ Hg t E) as [p [Ip Ep]].
        rewrite (Gr e 0 t [] eq_refl p Ip) in Ep; discriminate. }
      unfold closed_rows; rewrite Rg.
      transitivity (map (row e) (filter (gc (regs 0 e)) (keys (e ++ [(0, ET t)])))).
      + rewrite IH; apply Permutation_map, NoDup_Permutation; try (apply NoDup_filter, NoDup_nodup).
        intros g; rewrite !filter_In, keys_snoc. split; [tauto|].
        intros [[I| ->] Hg]; [tauto|exfalso; apply (O _ Hg); reflexivity].
      + erewrite map_ext_in; [reflexivity|]. intros g I; rewrite filter_In in I.
        unfold row, inp; rewrite flat_map_app; simpl. rewrite filter_app; simpl.
        unfold is at 3. destruct (G_dec (grp t) g) as [E|]; [exfalso; apply (O g (proj2 I) E)|].
        rewrite app_nil_r; reflexivity.
    - assert (Ei : inp 0 (e ++ [(0, EP r)]) = inp 0 e) by (unfold inp; rewrite flat_map_app; simpl; apply app_nil_r).
      assert (Er : regs 0 (e ++ [(0, EP r)]) = regs 0 e ++ [r]) by (unfold regs; rewrite flat_map_app; reflexivity).
      unfold closed_rows, keys, row; rewrite Ei, Er; simpl.
      rewrite IH; unfold closed_rows, keys, row. rewrite <- map_app. apply Permutation_map.
      symmetry; apply filter_split. intros g; apply gc_mono.
  Qed.

  (** a closed group gives no later row: the output punctuation "key = g" is true *)
  Lemma regs_mono g h e : gc (regs 0 h) g = true -> gc (regs 0 (h ++ e)) g = true.
  Proof.
    revert h; induction e as [|a e IH]; intros h H; [rewrite app_nil_r; exact H|].
    replace (h ++ a :: e) with ((h ++ [a]) ++ e) by (rewrite <- app_assoc; reflexivity).
    apply IH. unfold regs; rewrite flat_map_app; fold (regs 0 h).
    destruct a as [[|i] [t|r]]; simpl; rewrite ?app_nil_r; try exact H. apply gc_mono; exact H.
  Qed.
  Variable keyof : T -> G.
  Hypothesis keyof_agg : forall g l, keyof (agg g l) = g.
  Theorem aggregate_punctuation g h e :
    gc (regs 0 h) g = true -> forall t, In t (steps step_agg h e) -> keyof t <> g.
  Proof.
    revert h; induction e as [|a e IH]; intros h H t I; simpl in I; [contradiction|].
    apply in_app_or in I as [I|I].
    - destruct a as [[|i] [u|r]]; simpl in I; try contradiction.
      apply in_map_iff in I as [k [<- Ik]]. rewrite filter_In in Ik. destruct Ik as [_ B].
      unfold row; rewrite keyof_agg; intros ->. apply andb_true_iff in B as [_ B].
      rewrite H in B; discriminate.
    - eapply IH; [|exact I]. apply regs_mono; exact H.
  Qed.
End Ops.
Arguments inp {T R}. Arguments inp1 {T R}. Arguments regs {T R}. Arguments reg1 {T R}. Arguments binary {T R}.
Arguments gram {T R}. Arguments closed {T R}.
