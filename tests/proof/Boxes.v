(** Regions as finite unions of boxes (theory 1.1), one set of values for each attribute, over
    any algebra of such sets; undefined is one more value.  On them: the part of a region that
    an Alter can describe without its own attribute (G23, D2), and images that count empty
    parts as covered (D2).  No axioms. *)
From Coq Require Import List Bool Arith Lia.
From Cedilla Require Import Without.
Import ListNotations.

Class Algebra := {
  D : Type; S_ : Type;                        (* values, sets of values *)
  mem : S_ -> D -> bool; full : S_; inter : S_ -> S_ -> S_; minus : S_ -> S_ -> S_; none : S_ -> bool;
  mem_full : forall d, mem full d = true;
  mem_inter : forall s u d, mem (inter s u) d = mem s d && mem u d;
  mem_minus : forall s u d, mem (minus s u) d = mem s d && negb (mem u d);
  none_true : forall s, none s = true -> forall d, mem s d = false;
  none_false : forall s, none s = false -> exists d, mem s d = true }.

Section Boxes.
  Context {Al : Algebra}.
  Definition tuple := nat -> D.               (* attributes by their numbers *)
  Definition box := list S_.                   (* attributes after the last have any value *)
  Definition region := list box.
  Fixpoint inb (b : box) (i : nat) (t : tuple) : bool :=
    match b with [] => true | s :: b => mem s (t i) && inb b (S i) t end.
  Definition holds (g : region) (t : tuple) : bool := existsb (fun b => inb b 0 t) g.
  Definition upd (t : tuple) (x : nat) (v : D) : tuple := fun i => if Nat.eqb i x then v else t i.

  Lemma inb_ext b : forall i t u, (forall j, i <= j -> t j = u j) -> inb b i t = inb b i u.
  Proof.
    induction b as [|s b IH]; intros i t u H; simpl; [reflexivity|].
    rewrite (H i), (IH (S i) t u); auto. intros j J; apply H; lia.
  Qed.
  Lemma holds_ext g t u : (forall j, t j = u j) -> holds g t = holds g u.
  Proof. intros H; unfold holds; induction g as [|b g IH]; simpl; [reflexivity|]. rewrite IH, (inb_ext b 0 t u); auto. Qed.
  Lemma holds_app g h t : holds (g ++ h) t = holds g t || holds h t.
  Proof. apply existsb_app. Qed.

  (** *** Intersection and difference *)
  Fixpoint meet (b c : box) : box :=
    match b, c with [], _ => c | _, [] => b | s :: b, u :: c => inter s u :: meet b c end.
  Lemma inb_meet b : forall c i t, inb (meet b c) i t = inb b i t && inb c i t.
  Proof.
    induction b as [|s b IH]; intros [|u c] i t; simpl; rewrite ?andb_true_r; try reflexivity.
    rewrite mem_inter, IH. destruct (mem s (t i)), (mem u (t i)), (inb b (S i) t); reflexivity.
  Qed.
  Fixpoint cut (b c : box) : region :=
    match c with
    | [] => []
    | u :: c =>
        let '(s, b) := match b with [] => (full, []) | s :: b => (s, b) end in
        (minus s u :: b) :: map (cons (inter s u)) (cut b c)
    end.
  Lemma existsb_cons s l i t : existsb (fun b => inb b i t) (map (cons s) l) = mem s (t i) && existsb (fun b => inb b (S i) t) l.
  Proof.
    induction l as [|b l IH]; simpl; [rewrite andb_false_r; reflexivity|].
    rewrite IH. destruct (mem s (t i)), (inb b (S i) t); reflexivity.
  Qed.
  Lemma inb_cut c : forall b i t, existsb (fun b => inb b i t) (cut b c) = inb b i t && negb (inb c i t).
  Proof.
    induction c as [|u c IH]; intros b i t; simpl; [rewrite andb_false_r; reflexivity|].
    destruct b as [|s b]; simpl; rewrite existsb_cons, IH, mem_inter, mem_minus, ?mem_full; simpl.
    - destruct (mem u (t i)), (inb c (S i) t); reflexivity.
    - destruct (mem s (t i)), (mem u (t i)), (inb b (S i) t), (inb c (S i) t); reflexivity.
  Qed.
  Definition cut_all (g : region) (c : box) : region := flat_map (fun b => cut b c) g.
  Definition difference (g h : region) : region := fold_left cut_all h g.
  Lemma holds_cut g c t : holds (cut_all g c) t = holds g t && negb (inb c 0 t).
  Proof.
    unfold holds, cut_all; induction g as [|b g IH]; simpl; [reflexivity|].
    rewrite existsb_app, inb_cut, IH. destruct (inb b 0 t), (inb c 0 t), (existsb _ g); reflexivity.
  Qed.
  Theorem holds_difference h : forall g t, holds (difference g h) t = holds g t && negb (holds h t).
  Proof.
    unfold difference; induction h as [|c h IH]; intros g t; simpl; [rewrite andb_true_r; reflexivity|].
    rewrite IH, holds_cut. unfold holds; simpl. destruct (existsb _ g), (inb c 0 t); simpl; rewrite ?andb_false_r; reflexivity.
  Qed.

  (** *** Emptiness, exactly *)
  Definition empty (g : region) : bool := forallb (existsb none) g.
  Lemma empty_box b : forall i, existsb none b = true -> forall t, inb b i t = false.
  Proof.
    induction b as [|s b IH]; intros i H t; simpl in *; [discriminate|].
    apply orb_true_iff in H as [H|H]; [rewrite (none_true s H); reflexivity|].
    rewrite (IH _ H); apply andb_false_r.
  Qed.
  Lemma inhabited_box b : forall i (t0 : tuple), existsb none b = false -> exists t : tuple, inb b i t = true.
  Proof.
    induction b as [|s b IH]; intros i t0 H; simpl in *; [exists t0; reflexivity|].
    apply orb_false_iff in H as [N H]. destruct (none_false s N) as [d M]. destruct (IH (S i) t0 H) as [t I].
    exists (upd t i d). unfold upd at 1; rewrite Nat.eqb_refl, M; simpl. rewrite <- I. apply inb_ext.
    intros j J; unfold upd. destruct (Nat.eqb_spec j i); [lia|reflexivity].
  Qed.
  Theorem empty_exact (t0 : tuple) g : empty g = true <-> forall t, holds g t = false.
  Proof.
    unfold empty, holds; split.
    - intros H t; apply not_true_iff_false; intros E. apply existsb_exists in E as [b [I E]].
      rewrite forallb_forall in H. rewrite (empty_box b 0 (H b I)) in E; discriminate.
    - intros H; apply forallb_forall; intros b I. destruct (existsb none b) eqn:E; [reflexivity|exfalso].
      destruct (inhabited_box b 0 t0 E) as [t Tb]. specialize (H t).
      apply not_true_iff_false in H; apply H, existsb_exists; exists b; auto.
  Qed.

  (** *** exists_X: the region without its condition on one attribute *)
  Fixpoint wipe (x : nat) (b : box) : option box :=
    match b, x with
    | [], _ => Some []
    | s :: b, 0 => if none s then None else Some (full :: b)
    | s :: b, S x => option_map (cons s) (wipe x b)
    end.
  Definition exists_ (x : nat) (g : region) : region :=
    flat_map (fun b => match wipe x b with Some b => [b] | None => [] end) g.
  Lemma wipe_holds b : forall x i t, (match wipe x b with Some c => inb c i t | None => false end = true) <-> exists v, inb b i (upd t (i + x) v) = true.
  Proof.
    induction b as [|s b IH]; intros x i t; simpl.
    { split; intros _; [exists (t 0)|destruct x]; reflexivity. }
    assert (tail : forall v, inb b (S i) (upd t i v) = inb b (S i) t).
    { intros v; apply inb_ext; intros j J; unfold upd. destruct (Nat.eqb_spec j i); [lia|reflexivity]. }
    destruct x as [|x].
    - rewrite Nat.add_0_r. cbn [wipe]. destruct (none s) eqn:N.
      + split; [intros H; discriminate H|]. intros [v H]. unfold upd in H at 1; rewrite Nat.eqb_refl, (none_true s N) in H; discriminate.
      + simpl; rewrite mem_full; simpl. destruct (none_false s N) as [d M]. split.
        * intros H; exists d. unfold upd at 1; rewrite Nat.eqb_refl, M, tail; exact H.
        * intros [v H]. apply andb_true_iff in H as [_ H]. rewrite tail in H; exact H.
    - assert (head : forall v, upd t (i + S x) v i = t i) by (intros v; unfold upd; destruct (Nat.eqb_spec i (i + S x)); [lia|reflexivity]).
      cbn [wipe option_map]. specialize (IH x (S i) t). replace (S i + x) with (i + S x) in IH by lia.
      destruct (wipe x b) as [c|]; simpl in *.
      + split.
        * intros H; apply andb_true_iff in H as [H1 H2]. apply IH in H2 as [v H2]. exists v. rewrite head, H1; exact H2.
        * intros [v H]; apply andb_true_iff in H as [H1 H2]. rewrite head in H1. rewrite H1; apply IH; exists v; exact H2.
      + split; [intros H; discriminate H|]. intros [v H]; apply andb_true_iff in H as [_ H]. apply IH; exists v; exact H.
  Qed.
  Theorem exists_exact x g t : holds (exists_ x g) t = true <-> exists v, holds g (upd t x v) = true.
  Proof.
    unfold holds, exists_; induction g as [|b g IH]; simpl.
    - split; [discriminate|intros [v H]; discriminate].
    - rewrite existsb_app, orb_true_iff, IH. pose proof (wipe_holds b x 0 t) as K; simpl in K.
      split.
      + intros [H|[v H]]; [|exists v; rewrite H; apply orb_true_r].
        destruct (wipe x b) as [c|]; simpl in H; [|discriminate]. rewrite orb_false_r in H.
        apply K in H as [v H]; exists v; rewrite H; reflexivity.
      + intros [v H]; apply orb_true_iff in H as [H|H]; [left|right; exists v; exact H].
        assert (E : exists v, inb b 0 (upd t x v) = true) by (exists v; exact H).
        apply K in E. destruct (wipe x b); simpl; [rewrite E; reflexivity|discriminate].
  Qed.

  (** *** The part that an Alter of [x] can describe (G23, D2).  [g]: the tuples to change;
      [n]: where none can come. *)
  Definition without (x : nat) (g n : region) : region :=
    let grown := exists_ x g in
    difference grown (exists_ x (difference (difference grown g) n)).
  Lemma upd_upd t x v w j : upd (upd t x v) x w j = upd t x w j.
  Proof. unfold upd; destruct (Nat.eqb j x); reflexivity. Qed.
  Lemma exists_free x g t v : holds (exists_ x g) (upd t x v) = holds (exists_ x g) t.
  Proof.
    apply eq_true_iff_eq. rewrite !exists_exact. split; intros [w H]; exists w; rewrite <- H; apply holds_ext; intro j; [symmetry|]; apply upd_upd.
  Qed.
  (** it is Without's inner projection: of tuples with any value of [x], those of which one
      changes, and each changes or cannot come *)
  Theorem without_is_inner x g n t : holds (without x g n) t = true <->
    inner tuple D (fun t v => holds g (upd t x v) = true) (fun t v => holds n (upd t x v) = true) t.
  Proof.
    unfold without, inner. rewrite holds_difference, andb_true_iff, negb_true_iff, exists_exact.
    rewrite <- not_true_iff_false, exists_exact.
    assert (step : forall v, (exists w, holds g (upd t x w) = true) ->
      (holds (difference (difference (exists_ x g) g) n) (upd t x v) = true <-> ~ (holds g (upd t x v) = true \/ holds n (upd t x v) = true))).
    { intros v E. apply exists_exact in E. rewrite !holds_difference, exists_free, E.
      destruct (holds g (upd t x v)), (holds n (upd t x v)); simpl; intuition congruence. }
    split; intros [E H]; (split; [exact E|]).
    - intros v. specialize (step v E).
      destruct (holds g (upd t x v)) eqn:G; [auto|]. destruct (holds n (upd t x v)) eqn:N; [auto|].
      exfalso; apply H; exists v; apply step; intuition congruence.
    - intros [v K]. apply (step v E) in K. apply K, H.
  Qed.
  (** it does not name [x] *)
  Theorem without_free x g n t v : holds (without x g n) (upd t x v) = holds (without x g n) t.
  Proof. unfold without. rewrite !holds_difference, !exists_free; reflexivity. Qed.
  (** it is sound, and the largest: any region that does not name [x], each tuple of which
      changes or cannot come and each part of which has one that changes, is in it *)
  Theorem without_sound x g n t : holds (without x g n) t = true -> holds g t = true \/ holds n t = true.
  Proof.
    intros H; apply without_is_inner in H as [_ H]. specialize (H (t x)).
    rewrite !(holds_ext _ (upd t x (t x)) t) in H; [exact H| |];
      intro j; unfold upd; destruct (Nat.eqb_spec j x) as [->|]; reflexivity.
  Qed.
  Theorem without_largest x g n (p : tuple -> bool) :
    (forall t v, p (upd t x v) = p t) -> (forall t, p t = true -> holds g t = true \/ holds n t = true) ->
    (forall t, p t = true -> exists v, holds g (upd t x v) = true) ->
    forall t, p t = true -> holds (without x g n) t = true.
  Proof.
    intros Free Sound Some_ t P. apply without_is_inner; split; [apply Some_, P|].
    intros v. apply Sound. rewrite Free; exact P.
  Qed.
  (** R8: equal regions, however they are divided into boxes, are announced alike *)
  Theorem without_equal x g g' n n' : (forall t, holds g t = holds g' t) -> (forall t, holds n t = holds n' t) ->
    forall t, holds (without x g n) t = holds (without x g' n') t.
  Proof.
    intros G N t. apply eq_true_iff_eq. rewrite !without_is_inner. unfold inner.
    split; intros [[v H] K]; (split; [exists v; rewrite <- ?G, ?G in *; auto; rewrite G; auto|]);
      intros w; destruct (K w) as [X|X]; [left|right|left|right]; congruence.
  Qed.

  (** *** Images that are announced if they are covered (D2).  [e]: the empty part, outside of the
      declared domains, closed, or where the attribute is absent.  An image with the preimage
      [pre] (a window and its extent) is announced if all of [pre] is in [g], without [e], and
      something of it is. *)
  Definition covered (g e pre : region) : bool :=
    let rest := difference pre e in empty (difference rest g) && negb (empty rest).
  Theorem covered_exact (t0 : tuple) g e pre : covered g e pre = true <->
    (forall t, holds pre t = true -> holds e t = true \/ holds g t = true) /\
    ~ (forall t, holds pre t = true -> holds e t = true).
  Proof.
    unfold covered. rewrite andb_true_iff, negb_true_iff, <- not_true_iff_false, !(empty_exact t0).
    assert (A : (forall t, holds (difference (difference pre e) g) t = false) <-> forall t, holds pre t = true -> holds e t = true \/ holds g t = true).
    { split; intros H t; specialize (H t); rewrite ?holds_difference in *;
        destruct (holds pre t), (holds e t), (holds g t); simpl in *; intuition congruence. }
    assert (B : (forall t, holds (difference pre e) t = false) <-> forall t, holds pre t = true -> holds e t = true).
    { split; intros H t; specialize (H t); rewrite ?holds_difference in *;
        destruct (holds pre t), (holds e t); simpl in *; intuition congruence. }
    rewrite A, B; reflexivity.
  Qed.
  (** equal sets, equal reactions: regions that differ only in the empty part are alike *)
  Theorem covered_equal (t0 : tuple) g g' e pre : (forall t, holds e t = false -> holds g t = holds g' t) ->
    covered g e pre = covered g' e pre.
  Proof.
    intros H. apply eq_true_iff_eq. rewrite !(covered_exact t0). apply and_iff_compat_r.
    split; intros K t P; specialize (K t P); specialize (H t); destruct (holds e t); auto; destruct K as [K|K]; try discriminate;
      right; rewrite <- K; [symmetry|]; apply H; reflexivity.
  Qed.
  (** nothing is announced for an empty image alone *)
  Theorem impossible_is_silent (t0 : tuple) g e pre : (forall t, holds pre t = true -> holds e t = true) -> covered g e pre = false.
  Proof. intros H. apply not_true_iff_false; rewrite (covered_exact t0); intros [_ K]; apply K, H. Qed.
  (** what the domain excludes need not be described *)
  Theorem domain_counts (t0 : tuple) g e pre : covered g e pre = covered (g ++ e) e pre.
  Proof. apply covered_equal; [exact t0|]. intros t E. rewrite holds_app, E, orb_false_r; reflexivity. Qed.
End Boxes.
