(** The feeders of select, project, window, union, join and aggregate (theory 2.6), and that
    they are right: with Node.node_ok each of these operators gives valid, grammatical
    outputs.  What each gives on the canonical inputs is Ops.v's relational operator.
    No axioms. *)
From Coq Require Import List Permutation Bool Arith Lia.
From Cedilla Require Import Events Ops D1 Streams Node.
Import ListNotations.

Section Feeders.
  Context {W : World}.
  Notation hist := (list (nat * event T R)).

  (** A relational operator on two multisets of tuples, of which cells are closed *)
  Definition answer := (list T -> list T -> (C -> bool) -> list T).
  Definition closed_in (h : hist) (n : nat) : C -> bool := shut (regs n h).
  (** ... and whether a result can come in a cell, as far as tuples say; most operators ask
      feeders only *)
  Definition activity := (list T -> list T -> (C -> bool) -> (C -> bool) -> C -> bool).
  Definition always : activity := fun _ _ _ _ _ => true.
  Definition active (o : op) (b : activity) :=
    (forall h d, busy o h d = b (inp 0 h) (inp 1 h) (closed_in h 0) (closed_in h 1) d) /\
    (forall l l' r r' p p' q q' d, Permutation l l' -> Permutation r r' -> (forall c, p c = p' c) -> (forall c, q c = q' c) ->
      b l r p q d = b l' r' p' q' d).
  Lemma always_active o : (forall h d, busy o h d = true) -> active o always.
  Proof. split; [intros h d; rewrite H; reflexivity|reflexivity]. Qed.
  Definition gives (o : op) (a : answer) :=
    (forall h, gram holds h -> binary h -> Permutation (Events.steps (step o) [] h) (a (inp 0 h) (inp 1 h) (closed_in h 0))) /\
    (forall l l' r r' p q, Permutation l l' -> Permutation r r' -> (forall c, p c = q c) -> Permutation (a l r p) (a l' r' q)).

  (** a new tuple is of an open cell *)
  Lemma new_open (h : hist) i t : gram holds (h ++ [(i, ET t)]) -> shut (regs i h) (cell t) = false.
  Proof.
    intros G. destruct (shut (regs i h) (cell t)) eqn:S; [|reflexivity].
    destruct (shut_sound _ _ S t eq_refl) as [r [R E]]. rewrite (G h i t [] eq_refl r R) in E; discriminate.
  Qed.
  Lemma last_input (h : hist) i e : binary (h ++ [(i, e)]) -> i < 2.
  Proof. intros B; apply (B i e), in_or_app; right; left; reflexivity. Qed.
  Lemma steps_snoc st h (e : nat * event T R) : Events.steps st [] (h ++ [e]) = Events.steps st [] h ++ st h e.
  Proof. apply steps_app. Qed.
  Lemma inp_snoc n (h : hist) (e : nat * event T R) : inp n (h ++ [e]) = inp n h ++ inp1 n e.
  Proof. unfold inp; rewrite flat_map_app; simpl; rewrite app_nil_r; reflexivity. Qed.
  Lemma regs_snoc n (h : hist) (e : nat * event T R) : regs n (h ++ [e]) = regs n h ++ reg1 n e.
  Proof. unfold regs; rewrite flat_map_app; simpl; rewrite app_nil_r; reflexivity. Qed.

  (** *** Tuple by tuple: [f i t] are the results of a tuple of input [i].
      Feed(d): the cells with a tuple that can have a result in [d]. *)
  Section Flat.
    Variable f : nat -> T -> list T.
    Variable reach : nat -> C -> C -> bool.
    Hypothesis reach_ok : forall i t u, In u (f i t) -> reach i (cell t) (cell u) = true.
    Hypothesis f_has : forall i t u x, In u (f i t) -> has u x = true -> has t x = true.
    Definition flat : op :=
      Op (fun _ e => match e with (i, ET t) => f i t | _ => [] end) reach (fun _ _ _ => false) (fun _ _ => true).
    Theorem flat_feeders : operator flat.
    Proof.
      constructor.
      - intros h [i [u|p]] t G B I; simpl in I; [|contradiction].
        split; [|reflexivity].
        exists i, (cell u). split; [eapply last_input; exact B|split; [apply reach_ok, I|apply new_open, G]].
      - intros h [i [u|p]] t x G B I H; simpl in I; [|contradiction].
        left; exists i, u. split; [reflexivity|split; [eapply f_has; eassumption|apply reach_ok, I]].
      - intros h e d x G B K; discriminate.
      - reflexivity.
      - intros h d x K; discriminate.
      - reflexivity.
    Qed.
    Lemma flat_steps (h : hist) : binary h ->
      Permutation (Events.steps (step flat) [] h) (flat_map (f 0) (inp 0 h) ++ flat_map (f 1) (inp 1 h)).
    Proof.
      induction h as [|[i e] h IH] using rev_ind; intros B; [constructor|].
      rewrite steps_snoc, !inp_snoc, !flat_map_app. pose proof (last_input _ _ _ B) as N.
      specialize (IH (binary_app _ _ _ _ B)). destruct e as [t|p]; simpl.
      - destruct i as [|[|]]; [| |lia]; simpl; rewrite ?app_nil_r.
        + rewrite IH, <- !app_assoc. apply Permutation_app_head, Permutation_app_comm.
        + rewrite IH, <- !app_assoc. reflexivity.
      - destruct i as [|[|]]; [| |lia]; simpl; rewrite !app_nil_r; exact IH.
    Qed.
    Theorem flat_gives : gives flat (fun l r _ => flat_map (f 0) l ++ flat_map (f 1) r).
    Proof.
      split; [intros h _; apply flat_steps|]. intros l l' r r' p q L R _.
      apply Permutation_app; apply Permutation_flat_map; assumption.
    Qed.
  End Flat.

  Definition only0 (f : T -> list T) (i : nat) (t : T) := match i with 0 => f t | _ => [] end.
  Lemma flat_none (l : list T) : flat_map (fun _ : T => @nil T) l = [].
  Proof. induction l; simpl; auto. Qed.
  Lemma flat_one (g : T -> T) l : flat_map (fun t => [g t]) l = map g l.
  Proof. induction l; simpl; congruence. Qed.

  (** Select: the cell itself, if it has a tuple that passes *)
  Section Select.
    Variables (q : T -> bool) (passes : C -> bool).
    Hypothesis passes_ok : forall t, q t = true -> passes (cell t) = true.
    Definition select := flat (only0 (fun t => if q t then [t] else [])) (fun i c d => Nat.eqb i 0 && isc c d && passes c).
    Theorem select_feeders : operator select.
    Proof.
      apply flat_feeders; intros [|i] t u; simpl; try contradiction; destruct (q t) eqn:Q; simpl; try contradiction.
      - intros [<-|[]]. rewrite isc_refl, passes_ok by exact Q; reflexivity.
      - intros x [<-|[]] H; exact H.
    Qed.
    Theorem select_gives : gives select (fun l _ _ => filter q l).
    Proof.
      split.
      - intros h _ B. unfold select; rewrite (flat_steps _ _ h B); unfold only0. rewrite flat_none, app_nil_r, flat_map_filter; reflexivity.
      - intros l l' r r' p p' L _ _. rewrite <- !flat_map_filter. apply Permutation_flat_map, L.
    Qed.
  End Select.

  (** Project: the cells that are [d] without the dropped attributes *)
  Section Project.
    Variables (g : T -> T) (without : C -> C).
    Hypothesis cell_g : forall t, cell (g t) = without (cell t).
    Hypothesis has_g : forall t x, has (g t) x = true -> has t x = true.
    Definition project := flat (only0 (fun t => [g t])) (fun i c d => Nat.eqb i 0 && isc (without c) d).
    Theorem project_feeders : operator project.
    Proof.
      apply flat_feeders; intros [|i] t u; simpl; try contradiction.
      - intros [<-|[]]. rewrite cell_g; apply isc_refl.
      - intros x [<-|[]]; apply has_g.
    Qed.
    Theorem project_gives : gives project (fun l _ _ => map g l).
    Proof.
      split.
      - intros h _ B. unfold project; rewrite (flat_steps _ _ h B); unfold only0. rewrite flat_none, app_nil_r, flat_one; reflexivity.
      - intros l l' r r' p p' L _ _. apply Permutation_map, L.
    Qed.
  End Project.

  (** Window: a tuple has one copy in each window whose extent it is in; the extent of [d] feeds
      it.  A cell of the extent that the declared domain excludes has no tuples, so it is shut
      from the start, and counts as covered. *)
  Section Window.
    Variables (w : T -> list T) (windows : C -> list C).
    Hypothesis cell_w : forall t u, In u (w t) -> In (cell u) (windows (cell t)).
    Hypothesis has_w : forall t u x, In u (w t) -> has u x = true -> has t x = true.
    Definition extent (c d : C) := existsb (isc d) (windows c).
    Definition window := flat (only0 w) (fun i c d => Nat.eqb i 0 && extent c d).
    Theorem window_feeders : operator window.
    Proof.
      apply flat_feeders; intros [|i] t u; simpl; try contradiction.
      - intros I; apply existsb_exists; exists (cell u); split; [apply cell_w, I|apply isc_refl].
      - intros x I; apply has_w, I.
    Qed.
    Theorem window_gives : gives window (fun l _ _ => flat_map w l).
    Proof.
      split.
      - intros h _ B. unfold window; rewrite (flat_steps _ _ h B); unfold only0. rewrite flat_none, app_nil_r; reflexivity.
      - intros l l' r r' p p' L _ _. apply Permutation_flat_map, L.
    Qed.
    Theorem outside_domain st d : (forall n, cl (st n) = []) ->
      (forall c, extent c d = true -> forall t, cell t <> c) -> forall h, awake window st h d = false.
    Proof.
      intros CL H h. unfold awake. apply not_true_iff_false; rewrite existsb_exists; intros [[n c] [I S]].
      apply filter_In in I as [_ I]; simpl in *. apply andb_true_iff in I as [_ I]. apply andb_true_iff in S as [S _]. apply negb_true_iff in S.
      assert (X : shut (cl (st n)) c = true) by (apply shut_exact; intros t E; exfalso; eapply H; eassumption). congruence.
    Qed.
  End Window.

  (** Union: the same cell of both inputs *)
  Definition union := flat (fun _ t => [t]) (fun _ c d => isc c d).
  Theorem union_feeders : operator union.
  Proof.
    apply flat_feeders; intros i t u.
    - intros [<-|[]]; apply isc_refl.
    - intros x [<-|[]] H; exact H.
  Qed.
  Theorem union_gives : gives union (fun l r _ => l ++ r).
  Proof.
    split.
    - intros h _ B. unfold union; rewrite (flat_steps _ _ h B). rewrite !flat_one, !map_id; reflexivity.
    - intros l l' r r' p q L R _. apply Permutation_app; assumption.
  Qed.

  (** Join, with purging: the cells of both inputs that can meet in [d].  An attribute of one
      input only is absent in the other, so only its own input's cells count for it; a join
      attribute is present in both.  Stored tuples keep an attribute (G13). *)
  Section Join.
    Variables (J : T -> T -> list T) (meet : nat -> C -> C -> bool).
    Hypothesis meet_0 : forall t u v, In v (J t u) -> meet 0 (cell t) (cell v) = true.
    Hypothesis meet_1 : forall t u v, In v (J t u) -> meet 1 (cell u) (cell v) = true.
    Hypothesis J_has : forall t u v x, In v (J t u) -> has v x = true -> has t x = true \/ has u x = true.
    Variables keep0 keep1 : hist -> T -> bool.
    Hypothesis keep0_ok : forall h t, keep0 h t = false -> forall u, J t u <> [] -> closed holds (regs 1 h) u.
    Hypothesis keep1_ok : forall h u, keep1 h u = false -> forall t, J t u <> [] -> closed holds (regs 0 h) t.
    (** what is purged stays purged *)
    Hypothesis keep0_less : forall h e t, keep0 (h ++ [e]) t = true -> keep0 h t = true.
    Hypothesis keep1_less : forall h e t, keep1 (h ++ [e]) t = true -> keep1 h t = true.
    Definition stored (n : nat) (kp : hist -> T -> bool) (h : hist) d x :=
      existsb (fun t => has t x && meet n (cell t) d) (filter (kp h) (inp n h)).
    (** J1: a pair needs a left and a right tuple, each stored or of an open cell *)
    Definition side (n : nat) (l : list T) (p : C -> bool) (d : C) :=
      existsb (fun c => meet n c d && negb (p c)) cells || existsb (fun t => meet n (cell t) d) l.
    Definition pairing : activity := fun l r p q d => side 0 l p d && side 1 r q d.
    Definition pairs_left (h : hist) d := pairing (inp 0 h) (inp 1 h) (closed_in h 0) (closed_in h 1) d.
    Definition join : op :=
      Op (step_purged T R J keep0 keep1) meet
        (fun h d x => pairs_left h d && (stored 0 keep0 h d x || stored 1 keep1 h d x)) pairs_left.
    Lemma side_open n h u d : gram holds (h ++ [(n, ET u)]) -> meet n (cell u) d = true -> side n (inp n h) (closed_in h n) d = true.
    Proof.
      intros G M; unfold side; apply orb_true_iff; left. apply existsb_exists; exists (cell u); split; [apply cells_all|].
      unfold closed_in; rewrite M, (new_open _ _ _ G); reflexivity.
    Qed.
    Lemma side_stored n (h : hist) u d p : In u (inp n h) -> meet n (cell u) d = true -> side n (inp n h) p d = true.
    Proof. intros I M; unfold side; apply orb_true_iff; right. apply existsb_exists; exists u; auto. Qed.
    Lemma side_snoc n (h : hist) e d : gram holds (h ++ [e]) -> side n (inp n (h ++ [e])) (closed_in (h ++ [e]) n) d = true ->
      side n (inp n h) (closed_in h n) d = true.
    Proof.
      intros G S. unfold side in S. apply orb_true_iff in S as [S|S].
      - apply existsb_exists in S as [c [I S]]. unfold side; apply orb_true_iff; left. apply existsb_exists; exists c; split; [exact I|].
        apply andb_true_iff in S as [M S]. rewrite M; simpl. apply negb_true_iff in S; apply negb_true_iff.
        unfold closed_in in *. destruct (shut (regs n h) c) eqn:E; [|reflexivity].
        rewrite regs_snoc in S. erewrite shut_more in S; [discriminate| |exact E]. intros r Ir; apply in_or_app; auto.
      - apply existsb_exists in S as [u [I M]]. rewrite inp_snoc in I. apply in_app_or in I as [I|I]; [eapply side_stored; eassumption|].
        destruct e as [j [v|p]]; simpl in I; [|contradiction]. destruct (Nat.eqb_spec n j) as [->|]; [|contradiction].
        destruct I as [->|[]]. eapply side_open; eassumption.
    Qed.
    Lemma pairs_left_snoc h e d : gram holds (h ++ [e]) -> pairs_left (h ++ [e]) d = true -> pairs_left h d = true.
    Proof.
      unfold pairs_left, pairing; intros G H. apply andb_true_iff in H as [A B].
      rewrite (side_snoc 0 h e d G A), (side_snoc 1 h e d G B); reflexivity.
    Qed.
    Lemma pairs_left_step h i u t : gram holds (h ++ [(i, ET u)]) -> In t (step join h (i, ET u)) -> pairs_left h (cell t) = true.
    Proof.
      intros G I. simpl in I. destruct i as [|[|]]; [| |contradiction]; apply in_flat_map in I as [v [Iv I]]; apply filter_In in Iv as [Iv _];
        unfold pairs_left, pairing.
      - rewrite (side_open 0 h u (cell t) G); [|eauto]. apply (side_stored 1 h v); eauto.
      - rewrite (side_open 1 h u (cell t) G); [|eauto]. rewrite andb_true_r. apply (side_stored 0 h v); eauto.
    Qed.
    Theorem join_active : active join pairing.
    Proof.
      split; [reflexivity|]. intros l l' r r' p p' q q' d L R_ P Q. unfold pairing, side.
      assert (X : forall n (a b : list T), Permutation a b -> existsb (fun t => meet n (cell t) d) a = existsb (fun t => meet n (cell t) d) b).
      { intros n a b E; induction E; simpl; try congruence. rewrite !orb_assoc; f_equal; apply orb_comm. }
      assert (Y : forall n (f g : C -> bool), (forall c, f c = g c) -> existsb (fun c => meet n c d && negb (f c)) cells = existsb (fun c => meet n c d && negb (g c)) cells).
      { intros n f g E. induction cells as [|c l0 IH]; simpl; [reflexivity|rewrite E, IH; reflexivity]. }
      rewrite (X 0 _ _ L), (X 1 _ _ R_), (Y 0 _ _ P), (Y 1 _ _ Q); reflexivity.
    Qed.
    Lemma stored_snoc n kp h e d x : (forall h e t, kp (h ++ [e]) t = true -> kp h t = true) ->
      stored n kp (h ++ [e]) d x = true ->
      (exists u, e = (n, ET u) /\ has u x = true /\ meet n (cell u) d = true) \/ stored n kp h d x = true.
    Proof.
      intros L S. apply existsb_exists in S as [t [I H]]. apply filter_In in I as [I K]. rewrite inp_snoc in I.
      apply in_app_or in I as [I|I].
      - right; apply existsb_exists; exists t; split; [|exact H]. apply filter_In; eauto.
      - left; exists t. destruct e as [j [u|p]]; simpl in I; [|contradiction].
        destruct (Nat.eqb_spec n j) as [->|]; [|contradiction]. destruct I as [->|[]].
        apply andb_true_iff in H as [H M]; auto.
    Qed.
    Theorem join_feeders : operator join.
    Proof.
      constructor.
      - intros h [i [u|p]] t G B I; [|simpl in I; destruct i as [|[|]]; contradiction].
        split; [|eapply pairs_left_step; eassumption]. simpl in I.
        exists i, (cell u). split; [eapply last_input; exact B|]. split; [|apply new_open, G].
        destruct i as [|[|]]; [| |contradiction]; apply in_flat_map in I as [v [_ I]]; simpl; eauto.
      - intros h [i [u|p]] t x G B I H; [|simpl in I; destruct i as [|[|]]; contradiction].
        pose proof (pairs_left_step _ _ _ _ G I) as Pl. simpl in I.
        destruct i as [|[|]]; [| |contradiction]; apply in_flat_map in I as [v [Iv I]].
        + destruct (J_has _ _ _ _ I H) as [K|K]; [left; exists 0, u; eauto|right].
          cbn [keep join]. rewrite Pl; simpl. apply orb_true_iff; right. apply existsb_exists; exists v; split; [exact Iv|].
          rewrite K; simpl; eauto.
        + destruct (J_has _ _ _ _ I H) as [K|K]; [right|left; exists 1, u; eauto].
          cbn [keep join]. rewrite Pl; simpl. apply orb_true_iff; left. apply existsb_exists; exists v; split; [exact Iv|].
          rewrite K; simpl; eauto.
      - intros h e d x G B K. cbn [keep join feeds] in *. apply andb_true_iff in K as [Bz K].
        rewrite (pairs_left_snoc _ _ _ G Bz); simpl. apply orb_true_iff in K as [K|K]; apply stored_snoc in K; auto.
        + destruct K as [[u K]|K]; [left; exists 0, u; exact K|right; rewrite K; reflexivity].
        + destruct K as [[u K]|K]; [left; exists 1, u; exact K|right; rewrite K; apply orb_true_r].
      - intros d x; apply andb_false_r.
      - intros h d x K; apply andb_true_iff in K as [K _]; exact K.
      - intros h e d G _; apply pairs_left_snoc, G.
    Qed.
    Lemma pairs_perm l l' r r' : Permutation l l' -> Permutation r r' -> Permutation (pairs T J l r) (pairs T J l' r').
    Proof.
      intros L R. unfold pairs. rewrite L. clear L l. induction l' as [|t l IH]; simpl; [constructor|].
      apply Permutation_app; [apply Permutation_flat_map, R|exact IH].
    Qed.
    Theorem join_gives : gives join (fun l r _ => pairs T J l r).
    Proof.
      split.
      - intros h G B. simpl. rewrite (purge_correct T R holds J keep0 keep1 keep0_ok keep1_ok h G). apply join_correct, B.
      - intros l l' r r' p q L R _. apply pairs_perm; assumption.
    Qed.
  End Join.

  (** Aggregate: the cells that can have tuples of a group of [d].  A group's row comes once all
      of them are closed; open groups keep an attribute (G13). *)
  Section Aggregate.
    Variable G : Type.
    Hypothesis G_dec : forall a b : G, {a = b} + {a <> b}.
    Variables (grp : T -> G) (agg : G -> list T -> T) (fibre : G -> list C) (gcell : G -> C) (member : C -> C -> bool).
    Hypothesis fibre_ok : forall t, In (cell t) (fibre (grp t)).
    Hypothesis member_ok : forall g c, In c (fibre g) -> member c (gcell g) = true.
    Hypothesis cell_agg : forall g l, cell (agg g l) = gcell g.
    Hypothesis agg_has : forall g l x, has (agg g l) x = true -> exists t, In t l /\ has t x = true.
    Hypothesis agg_perm : forall g l l', Permutation l l' -> agg g l = agg g l'.
    Definition gc (P : list R) g := forallb (shut P) (fibre g).
    Lemma gc_sound P g : gc P g = true -> forall t, grp t = g -> closed holds P t.
    Proof.
      unfold gc; rewrite forallb_forall; intros H t <-. apply (shut_sound P (cell t)); [apply H, fibre_ok|reflexivity].
    Qed.
    Lemma gc_mono P p g : gc P g = true -> gc (P ++ [p]) g = true.
    Proof. unfold gc; rewrite !forallb_forall; intros H c I; apply shut_mono, H, I. Qed.
    Definition partial (h : hist) d x :=
      existsb (fun t => has t x && isc (gcell (grp t)) d && negb (gc (regs 0 h) (grp t))) (inp 0 h).
    Definition aggregate : op :=
      Op (step_agg T R G G_dec grp agg gc) (fun i c d => Nat.eqb i 0 && member c d) partial (fun _ _ => true).
    Theorem aggregate_feeders : operator aggregate.
    Proof.
      constructor.
      - intros h [[|i] [u|r]] t Gr B I; simpl in I; try contradiction.
        apply in_map_iff in I as [g [<- I]]. apply filter_In in I as [_ I]. apply andb_true_iff in I as [_ I].
        apply negb_true_iff in I. unfold row; rewrite cell_agg.
        assert (E : exists c, In c (fibre g) /\ shut (regs 0 h) c = false).
        { unfold gc in I. clear - I. induction (fibre g) as [|c l IH]; simpl in I; [discriminate|].
          destruct (shut (regs 0 h) c) eqn:S; [destruct IH as (d & D & E); [exact I|exists d; split; [right; exact D|exact E]]|].
          exists c; split; [left; reflexivity|exact S]. }
        destruct E as (c & Ic & S). split; [|reflexivity]. exists 0, c. repeat split; [lia|simpl; apply member_ok, Ic|exact S].
      - intros h [[|i] [u|r]] t x Gr B I H; simpl in I; try contradiction.
        apply in_map_iff in I as [g [<- I]]. apply filter_In in I as [_ I]. apply andb_true_iff in I as [_ I].
        right. cbn [keep aggregate]. unfold row in *. rewrite cell_agg. apply agg_has in H as [u [Iu H]].
        apply filter_In in Iu as [Iu E]. unfold is in E. destruct (G_dec (grp u) g) as [<-|]; [|discriminate].
        apply existsb_exists; exists u; split; [exact Iu|]. rewrite H, isc_refl, I; reflexivity.
      - intros h e d x Gr B K. apply existsb_exists in K as [t [I K]]. apply andb_true_iff in K as [K N]. rewrite inp_snoc in I.
        assert (N' : negb (gc (regs 0 h) (grp t)) = true).
        { destruct (gc (regs 0 h) (grp t)) eqn:E; [|reflexivity]. exfalso. rewrite regs_snoc in N.
          destruct e as [j [u|r]]; simpl in N; rewrite ?app_nil_r, ?E in N; try discriminate.
          destruct j; simpl in N; rewrite ?app_nil_r, ?E in N; try discriminate. rewrite gc_mono in N by exact E; discriminate. }
        apply in_app_or in I as [I|I].
        + right; apply existsb_exists; exists t; split; [exact I|]. rewrite K, N'; reflexivity.
        + left. destruct e as [j [u|r]]; simpl in I; [|contradiction]. destruct j as [|j]; [|contradiction].
          destruct I as [->|[]]. exists 0, t. apply andb_true_iff in K as [K1 K2]. apply isc_eq in K2; subst d.
          repeat split; [exact K1|]. simpl. apply member_ok, fibre_ok.
      - reflexivity.
      - reflexivity.
      - reflexivity.
    Qed.
    (** the rows of the groups of which all cells are closed *)
    Definition rows (l : list T) (p : C -> bool) : list T :=
      map (fun g => agg g (filter (is T G G_dec grp g) l)) (filter (fun g => forallb p (fibre g)) (nodup G_dec (map grp l))).
    Theorem aggregate_gives : gives aggregate (fun l _ p => rows l p).
    Proof.
      split.
      - intros h Gr B. apply (aggregate_correct T R holds G G_dec grp agg gc gc_sound gc_mono h Gr).
      - intros l l' r r' p q L _ E. unfold rows.
        assert (M : forall g, agg g (filter (is T G G_dec grp g) l) = agg g (filter (is T G G_dec grp g) l')).
        { intros g; apply agg_perm. rewrite <- !flat_map_filter. apply Permutation_flat_map, L. }
        rewrite (map_ext _ _ M). apply Permutation_map.
        apply NoDup_Permutation; try (apply NoDup_filter, NoDup_nodup).
        intros g; rewrite !filter_In, !nodup_In.
        assert (X : forallb p (fibre g) = forallb q (fibre g)) by (induction (fibre g) as [|c f IH]; simpl; [reflexivity|rewrite E, IH; reflexivity]).
        rewrite X. split; intros [I K]; (split; [|exact K]); eapply Permutation_in; try exact I; apply Permutation_map; [exact L|symmetry; exact L].
    Qed.
  End Aggregate.
End Feeders.
