(** Raw streams with Adds, Drops and Alters of regions, tuples and punctuations; what they
    mean, and when they are valid and grammatical.  A world has finitely many cells: the
    sets of tuples that descriptions tell apart.  They are told apart by attributes that no
    Alter changes, so the cell of a tuple is that of its raw form (Data.v has D0 and P-alter
    without this assumption).  No axioms. *)
From Coq Require Import List Bool Arith Lia.
From Cedilla Require Import Events Ops D1.
Import ListNotations.

Class World := {
  C : Type; A : Type; F : Type; T : Type;
  C_dec : forall a b : C, {a = b} + {a <> b};
  A_dec : forall a b : A, {a = b} + {a <> b};
  F_dec : forall a b : F, {a = b} + {a <> b};
  cells : list C; cells_all : forall c, In c cells; cells_once : NoDup cells;
  attrs : list A; attrs_all : forall x, In x attrs; attrs_once : NoDup attrs;
  (** cumulative functions are a group *)
  one : F; mul : F -> F -> F; inv : F -> F;
  mul_assoc : forall f g h, mul f (mul g h) = mul (mul f g) h;
  mul_one : forall f, mul f one = f;
  mul_inv : forall f, mul f (inv f) = one;
  inv_mul : forall f, mul (inv f) f = one;
  (** tuples: their cell, which attributes they have, and one function for each attribute *)
  cell : T -> C; has : T -> A -> bool; chg : (A -> F) -> T -> T;
  chg_ext : forall m n t, (forall x, m x = n x) -> chg m t = chg n t;
  chg_one : forall t, chg (fun _ => one) t = t;
  chg_mul : forall m n t, chg m (chg n t) = chg (fun x => mul (m x) (n x)) t;
  cell_chg : forall m t, cell (chg m t) = cell t;
  has_chg : forall m t x, has (chg m t) x = has t x;
  (** regions of tuples: the whole of a cell; a region of raw tuples, in canonical values; and
      an exact test that regions close a cell *)
  R : Type; holds : R -> T -> bool; whole : C -> R; pull : (C -> A -> F) -> R -> R; shut : list R -> C -> bool;
  holds_whole : forall c t, holds (whole c) t = if C_dec c (cell t) then true else false;
  holds_pull : forall m r t, holds (pull m r) t = holds r (chg (m (cell t)) t);
  shut_exact : forall P c, shut P c = true <-> forall t, cell t = c -> exists r, In r P /\ holds r t = true }.

Section Streams.
  Context {W : World}.
  Lemma shut_sound P c : shut P c = true -> forall t, cell t = c -> exists r, In r P /\ holds r t = true.
  Proof. apply shut_exact. Qed.
  Lemma shut_more P Q c : (forall r, In r P -> In r Q) -> shut P c = true -> shut Q c = true.
  Proof. intros I S; apply shut_exact; intros t E. destruct (shut_sound _ _ S t E) as [r [R H]]; exists r; auto. Qed.
  Lemma shut_mono P p c : shut P c = true -> shut (P ++ [p]) c = true.
  Proof. apply shut_more; intros r R; apply in_or_app; auto. Qed.

  Inductive item :=
  | Tu (t : T) | Pu (p : R)
  | Ad (x : A) (d : C -> bool) | Dr (x : A) (d : C -> bool) | Al (x : A) (d : C -> bool) (f : F).

  (** what a reader knows: presence, the cumulative functions of a cell since its Add,
      latest first, and the canonical regions that are closed *)
  Record rd := Rd { pr : C -> A -> bool; hs : C -> A -> list F; cl : list R }.
  Definition own (s : rd) c x := hd one (hs s c x).
  Definition enc (s : rd) (t : T) := chg (own s (cell t)) t.
  Definition dec (s : rd) (t : T) := chg (fun x => inv (own s (cell t) x)) t.
  Lemma dec_enc s t : dec s (enc s t) = t.
  Proof.
    unfold dec, enc; rewrite cell_chg, chg_mul. rewrite <- (chg_one t) at 2. apply chg_ext; intro; apply inv_mul.
  Qed.
  Lemma enc_dec s t : enc s (dec s t) = t.
  Proof.
    unfold dec, enc; rewrite cell_chg, chg_mul. rewrite <- (chg_one t) at 2. apply chg_ext; intro; apply mul_inv.
  Qed.

  Definition isx (x y : A) := if A_dec x y then true else false.
  Definition read (s : rd) (i : item) : rd :=
    match i with
    | Tu _ => s
    | Pu p => Rd (pr s) (hs s) (cl s ++ [pull (own s) p])
    | Ad x d => Rd (fun c y => if isx x y && d c then true else pr s c y)
                   (fun c y => if isx x y && d c then [one] else hs s c y) (cl s)
    | Dr x d => Rd (fun c y => if isx x y && d c then false else pr s c y) (hs s) (cl s)
    | Al x d f => Rd (pr s) (fun c y => if isx x y && d c then mul f (own s c y) :: hs s c y else hs s c y) (cl s)
    end.
  (** valid: no Add of what is present, no Drop and no Alter of what is absent, no tuple with
      an attribute that is absent; grammatical: no tuple that is closed *)
  Definition valid_item (s : rd) (i : item) : Prop :=
    match i with
    | Tu t => forall x, has t x = true -> pr s (cell t) x = true
    | Pu _ => True
    | Ad x d => forall c, d c = true -> pr s c x = false
    | Dr x d | Al x d _ => forall c, d c = true -> pr s c x = true
    end.
  Definition open_item (s : rd) (i : item) : Prop :=
    match i with Tu t => forall r, In r (cl s) -> holds r (dec s t) = false | _ => True end.
  Fixpoint reads (s : rd) (l : list item) : rd := match l with [] => s | i :: l => reads (read s i) l end.
  Fixpoint valid (s : rd) (l : list item) : Prop :=
    match l with [] => True | i :: l => valid_item s i /\ valid (read s i) l end.
  Fixpoint grammatical (s : rd) (l : list item) : Prop :=
    match l with [] => True | i :: l => open_item s i /\ grammatical (read s i) l end.
  Definition good s l := valid s l /\ grammatical s l.

  (** its canonical content *)
  Definition event1 (s : rd) (i : item) : list (event T R) :=
    match i with Tu t => [ET (dec s t)] | Pu p => [EP (pull (own s) p)] | _ => [] end.
  Fixpoint events (s : rd) (l : list item) : list (event T R) :=
    match l with [] => [] | i :: l => event1 s i ++ events (read s i) l end.
  Definition content s l := tup (events s l).

  Lemma reads_app s a b : reads s (a ++ b) = reads (reads s a) b.
  Proof. revert s; induction a as [|i a IH]; intros s; simpl; auto. Qed.
  Lemma good_app s a b : good s a -> good (reads s a) b -> good s (a ++ b).
  Proof.
    unfold good; revert s; induction a as [|i a IH]; intros s; simpl; [auto|].
    intros [[V1 V2] [G1 G2]] H. destruct (IH _ (conj V2 G2) H). auto.
  Qed.
  Lemma good_app_inv s a b : good s (a ++ b) -> good s a /\ good (reads s a) b.
  Proof.
    unfold good; revert s; induction a as [|i a IH]; intros s; simpl; [tauto|].
    intros [[V1 V2] [G1 G2]]. destruct (IH _ (conj V2 G2)) as [[] []]. auto.
  Qed.
  Lemma content_app s a b : content s (a ++ b) = content s a ++ content (reads s a) b.
  Proof.
    unfold content; revert s; induction a as [|i a IH]; intros s; simpl; [reflexivity|].
    rewrite !tup_app, IH, app_assoc; reflexivity.
  Qed.

  (** ** Markers of one cell and attribute each *)
  Definition key := (C * A)%type.
  Definition keys : list key := list_prod cells attrs.
  Lemma keys_all k : In k keys.
  Proof. destruct k; apply in_prod; [apply cells_all|apply attrs_all]. Qed.
  Lemma nodup_app {X} (a b : list X) : NoDup a -> NoDup b -> (forall x, In x a -> In x b -> False) -> NoDup (a ++ b).
  Proof.
    intros NA NB H; induction NA as [|x a N NA IH]; simpl; [exact NB|].
    constructor; [rewrite in_app_iff; intros [I|I]; [contradiction|eapply H; [left; reflexivity|exact I]]|].
    apply IH; intros y Y; apply H; right; exact Y.
  Qed.
  Lemma nodup_prod {X Y} (l : list X) (r : list Y) : NoDup l -> NoDup r -> NoDup (list_prod l r).
  Proof.
    intros L R; induction L as [|x l N L IH]; simpl; [constructor|]. apply nodup_app; [|exact IH|].
    - apply FinFun.Injective_map_NoDup; [intros a b E; congruence|exact R].
    - intros [a b] I J. apply in_map_iff in I as [y [E _]]; injection E as <- <-.
      apply in_prod_iff in J as [J _]; contradiction.
  Qed.
  Lemma keys_once : NoDup keys.
  Proof. apply nodup_prod; [apply cells_once|apply attrs_once]. Qed.

  Definition isc (c d : C) := if C_dec c d then true else false.
  Lemma isc_refl c : isc c c = true. Proof. unfold isc; destruct (C_dec c c); congruence. Qed.
  Lemma isc_eq c d : isc c d = true -> c = d. Proof. unfold isc; destruct (C_dec c d); congruence. Qed.
  Lemma isx_refl c : isx c c = true. Proof. unfold isx; destruct (A_dec c c); congruence. Qed.
  Lemma isx_eq c d : isx c d = true -> c = d. Proof. unfold isx; destruct (A_dec c d); congruence. Qed.
  Definition at_ (s : rd) (k : key) := (pr s (fst k) (snd k), hs s (fst k) (snd k)).

  Section Phase.
    Variables (it : key -> item) (eff : key -> bool * list F -> bool * list F) (may : key -> bool * list F -> Prop).
    Hypothesis it_cl : forall s k, cl (read s (it k)) = cl s.
    Hypothesis it_at : forall s k j, at_ (read s (it k)) j = if isc (fst k) (fst j) && isx (snd k) (snd j) then eff j (at_ s j) else at_ s j.
    Hypothesis it_ok : forall s k, may k (at_ s k) -> valid_item s (it k) /\ open_item s (it k).
    Hypothesis it_none : forall s k, event1 s (it k) = [].
    Definition phase (b : key -> bool) (l : list key) := map it (filter b l).
    Lemma same_key (k j : key) : isc (fst k) (fst j) && isx (snd k) (snd j) = true -> k = j.
    Proof.
      destruct k, j; simpl; intros E; apply andb_true_iff in E as [E G].
      apply isc_eq in E; apply isx_eq in G; congruence.
    Qed.
    Lemma phase_reads b l : NoDup l -> forall s,
      cl (reads s (phase b l)) = cl s /\
      (forall j, (In j l -> at_ (reads s (phase b l)) j = if b j then eff j (at_ s j) else at_ s j) /\
                 (~ In j l -> at_ (reads s (phase b l)) j = at_ s j)) /\
      ((forall j, In j l -> b j = true -> may j (at_ s j)) -> good s (phase b l)) /\
      content s (phase b l) = [].
    Proof.
      unfold phase; induction 1 as [|k l N L IH]; intros s; simpl.
      { repeat split; try reflexivity; contradiction. }
      assert (K : isc (fst k) (fst k) && isx (snd k) (snd k) = true) by (rewrite isc_refl, isx_refl; reflexivity).
      destruct (b k) eqn:B; simpl.
      - destruct (IH (read s (it k))) as (I1 & I2 & I3 & I4). split; [rewrite I1; apply it_cl|].
        assert (O : forall j, j <> k -> at_ (read s (it k)) j = at_ s j).
        { intros j J; rewrite it_at. destruct (isc (fst k) (fst j) && isx (snd k) (snd j)) eqn:E; [|reflexivity].
          apply same_key in E; congruence. }
        split; [|split].
        + intros j; split.
          * intros [<-|I]; [rewrite (proj2 (I2 k) N), it_at, K, B; reflexivity|].
            rewrite (proj1 (I2 j) I), O; [reflexivity|intros ->; contradiction].
          * intros I. rewrite (proj2 (I2 j)), O; [reflexivity|intros ->; apply I; left; reflexivity|intros J; apply I; right; exact J].
        + intros M. destruct (it_ok s k (M k (or_introl eq_refl) B)) as [V G].
          destruct I3 as [V' G']; [|split; simpl; auto].
          intros j J Bj. rewrite O; [apply M; auto|intros ->; contradiction].
        + unfold content in *; simpl. rewrite it_none; exact I4.
      - destruct (IH s) as (I1 & I2 & I3 & I4). split; [exact I1|]. split; [|split; [|exact I4]].
        + intros j; split.
          * intros [<-|I]; [rewrite (proj2 (I2 k) N), B; reflexivity|apply I2, I].
          * intros I. apply I2; intros J; apply I; right; exact J.
        + intros M; apply I3; intros j J; apply M; right; exact J.
    Qed.
    Corollary phase_all b s :
      cl (reads s (phase b keys)) = cl s /\
      (forall j, at_ (reads s (phase b keys)) j = if b j then eff j (at_ s j) else at_ s j) /\
      ((forall j, b j = true -> may j (at_ s j)) -> good s (phase b keys)) /\
      content s (phase b keys) = [].
    Proof.
      destruct (phase_reads b keys keys_once s) as (I1 & I2 & I3 & I4). repeat split; auto.
      - intros j; apply I2, keys_all.
      - apply I3; auto.
      - apply I3; auto.
    Qed.
  End Phase.

  Definition add_ (k : key) := Ad (snd k) (isc (fst k)).
  Definition drop_ (k : key) := Dr (snd k) (isc (fst k)).
  Definition alter_ (g : key -> F) (k : key) := Al (snd k) (isc (fst k)) (g k).
  Lemma if_swap (a b : bool) {X} (u v : X) : (if a && b then u else v) = if b && a then u else v.
  Proof. rewrite andb_comm; reflexivity. Qed.
  Lemma adds_phase b s :
    let s' := reads s (phase add_ b keys) in
    cl s' = cl s /\ (forall c x, pr s' c x = pr s c x || b (c, x)) /\
    (forall c x, hs s' c x = if b (c, x) then [one] else hs s c x) /\
    ((forall c x, b (c, x) = true -> pr s c x = false) -> good s (phase add_ b keys)) /\
    content s (phase add_ b keys) = [].
  Proof.
    destruct (phase_all add_ (fun _ _ => (true, [one])) (fun _ p => fst p = false)) with (b := b) (s := s) as (I1 & I2 & I3 & I4).
    - reflexivity.
    - intros r k j; unfold at_, add_; simpl. rewrite !(if_swap (isx _ _)). destruct (_ && _); reflexivity.
    - intros r [c x] H; simpl in *; split; [|exact I]. intros d D; apply isc_eq in D; subst; exact H.
    - reflexivity.
    - simpl; split; [exact I1|]. assert (J : forall c x, at_ (reads s (phase add_ b keys)) (c, x) = if b (c, x) then (true, [one]) else at_ s (c, x)) by (intros; apply I2).
      split; [|split; [|split]].
      + intros c x; specialize (J c x). apply (f_equal fst) in J; simpl in J; rewrite J.
        destruct (b (c, x)); simpl; rewrite ?orb_true_r, ?orb_false_r; reflexivity.
      + intros c x; specialize (J c x). apply (f_equal snd) in J; simpl in J; rewrite J. destruct (b (c, x)); reflexivity.
      + intros H; apply I3. intros [c x]; apply H.
      + exact I4.
  Qed.
  Lemma drops_phase b s :
    let s' := reads s (phase drop_ b keys) in
    cl s' = cl s /\ (forall c x, pr s' c x = pr s c x && negb (b (c, x))) /\
    (forall c x, hs s' c x = hs s c x) /\
    ((forall c x, b (c, x) = true -> pr s c x = true) -> good s (phase drop_ b keys)) /\
    content s (phase drop_ b keys) = [].
  Proof.
    destruct (phase_all drop_ (fun _ p => (false, snd p)) (fun _ p => fst p = true)) with (b := b) (s := s) as (I1 & I2 & I3 & I4).
    - reflexivity.
    - intros r k j; unfold at_, drop_; simpl. rewrite !(if_swap (isx _ _)). destruct (_ && _); reflexivity.
    - intros r [c x] H; simpl in *; split; [|exact I]. intros d D; apply isc_eq in D; subst; exact H.
    - reflexivity.
    - simpl; split; [exact I1|]. assert (J : forall c x, at_ (reads s (phase drop_ b keys)) (c, x) = if b (c, x) then (false, snd (at_ s (c, x))) else at_ s (c, x)) by (intros; apply I2).
      split; [|split; [|split]].
      + intros c x; specialize (J c x). apply (f_equal fst) in J; simpl in J; rewrite J.
        destruct (b (c, x)); simpl; rewrite ?andb_false_r, ?andb_true_r; reflexivity.
      + intros c x; specialize (J c x). apply (f_equal snd) in J; simpl in J; rewrite J. destruct (b (c, x)); reflexivity.
      + intros H; apply I3. intros [c x]; apply H.
      + exact I4.
  Qed.
  Lemma alters_phase g b s :
    let s' := reads s (phase (alter_ g) b keys) in
    cl s' = cl s /\ (forall c x, pr s' c x = pr s c x) /\
    (forall c x, hs s' c x = if b (c, x) then mul (g (c, x)) (own s c x) :: hs s c x else hs s c x) /\
    ((forall c x, b (c, x) = true -> pr s c x = true) -> good s (phase (alter_ g) b keys)) /\
    content s (phase (alter_ g) b keys) = [].
  Proof.
    destruct (phase_all (alter_ g) (fun k p => (fst p, mul (g k) (hd one (snd p)) :: snd p)) (fun _ p => fst p = true)) with (b := b) (s := s) as (I1 & I2 & I3 & I4).
    - reflexivity.
    - intros r k j; unfold at_, alter_; simpl. rewrite !(if_swap (isx _ _)).
      destruct (isc (fst k) (fst j) && isx (snd k) (snd j)) eqn:E; [|reflexivity].
      apply andb_true_iff in E as [E G]; apply isc_eq in E; apply isx_eq in G.
      destruct k, j; simpl in *; subst; reflexivity.
    - intros r [c x] H; simpl in *; split; [|exact I]. intros d D; apply isc_eq in D; subst; exact H.
    - reflexivity.
    - simpl; split; [exact I1|].
      assert (J : forall c x, at_ (reads s (phase (alter_ g) b keys)) (c, x) = if b (c, x) then (pr s c x, mul (g (c, x)) (own s c x) :: hs s c x) else at_ s (c, x)) by (intros; apply I2).
      split; [|split; [|split]].
      + intros c x; specialize (J c x). apply (f_equal fst) in J; simpl in J; rewrite J. destruct (b (c, x)); reflexivity.
      + intros c x; specialize (J c x). apply (f_equal snd) in J; simpl in J; rewrite J. destruct (b (c, x)); reflexivity.
      + intros H; apply I3. intros [c x]; apply H.
      + exact I4.
  Qed.

  (** tuples in the units in force, and punctuations of whole cells *)
  Lemma tuples_phase s l :
    reads s (map (fun t => Tu (enc s t)) l) = s /\
    ((forall t, In t l -> (forall x, has t x = true -> pr s (cell t) x = true) /\ forall r, In r (cl s) -> holds r t = false) ->
      good s (map (fun t => Tu (enc s t)) l)) /\
    content s (map (fun t => Tu (enc s t)) l) = l.
  Proof.
    induction l as [|t l IH]; simpl; [repeat split|]. destruct IH as (I1 & I2 & I3). split; [exact I1|split].
    - intros H. destruct I2 as [V G]; [auto|]. destruct (H t (or_introl eq_refl)) as [P O].
      split; simpl; (split; [|assumption]).
      + intros x X; unfold enc in *; rewrite has_chg in X; rewrite cell_chg; auto.
      + intros r R; rewrite dec_enc; auto.
    - unfold content in *; simpl. rewrite dec_enc, I3; reflexivity.
  Qed.
  Definition shuts (l : list C) := map (fun c => Pu (whole c)) l.
  Lemma shuts_phase l : forall s,
    (forall c x, pr (reads s (shuts l)) c x = pr s c x) /\ (forall c x, hs (reads s (shuts l)) c x = hs s c x) /\
    (forall r, In r (cl (reads s (shuts l))) -> In r (cl s) \/ exists c, In c l /\ forall t, holds r t = isc c (cell t)) /\
    (forall r, In r (cl s) -> In r (cl (reads s (shuts l)))) /\
    (forall c, In c l -> exists r, In r (cl (reads s (shuts l))) /\ forall t, holds r t = isc c (cell t)) /\
    good s (shuts l) /\ content s (shuts l) = [].
  Proof.
    induction l as [|d l IH]; intros s; simpl; [repeat split; auto; contradiction|].
    set (p := whole d).
    destruct (IH (read s (Pu p))) as (I1 & I2 & I3 & I3' & I4 & [V G] & I5); simpl in *.
    assert (E : forall t, holds (pull (own s) p) t = isc d (cell t)) by (intro t; unfold p; rewrite holds_pull, holds_whole, cell_chg; reflexivity).
    repeat split; auto.
    - intros r R; apply I3 in R as [R|[c [R H]]]; [|right; exists c; auto].
      apply in_app_or in R as [R|[<-|[]]]; [left; exact R|right; exists d; auto].
    - intros r R; apply I3', in_or_app; auto.
    - intros c [<-|I]; [|apply I4, I]. exists (pull (own s) p); split; [|exact E].
      apply I3', in_or_app; right; left; reflexivity.
  Qed.
End Streams.
