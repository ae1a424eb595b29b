(** The assumptions of Streams.World and Boxes.Algebra hold for tuples over integers: sets of
    integers and undefined by bounds, regions by boxes, and functions y -> y + f.  So the
    theorems about streams, plans and regions are about something.  No axioms. *)
From Coq Require Import List Bool ZArith Lia.
From Cedilla Require Import Boxes Streams.
Import ListNotations.
Open Scope Z_scope.

(** *** Sets of values: all combinations of bounds *)
Inductive bounds := Any | Undefined | From (x : Z) | Both (a b : bounds) | But (a b : bounds).
Fixpoint inside (s : bounds) (d : option Z) : bool :=
  match s with
  | Any => true
  | Undefined => match d with None => true | _ => false end
  | From x => match d with Some v => x <=? v | None => false end
  | Both a b => inside a d && inside b d
  | But a b => inside a d && negb (inside b d)
  end.
Fixpoint cuts (s : bounds) : list Z :=
  match s with From x => [x] | Both a b | But a b => cuts a ++ cuts b | _ => [] end.
Definition below (l : list Z) := fold_right Z.min 0 l - 1.
Definition samples (s : bounds) := None :: map Some (below (cuts s) :: cuts s).
Definition no_value (s : bounds) := forallb (fun d => negb (inside s d)) (samples s).

Lemma below_all l x : In x l -> below l < x.
Proof. unfold below; induction l as [|y l IH]; simpl; [contradiction|]. intros [<-|I]; [|specialize (IH I)]; lia. Qed.
Lemma nearest l v : (forall x, In x l -> v < x) \/ exists w, In w l /\ w <= v /\ forall x, In x l -> x <= v -> x <= w.
Proof.
  induction l as [|y l IH]; [left; contradiction|]. destruct (Z_lt_le_dec v y) as [L|L].
  - destruct IH as [IH|(w & I & H & K)].
    + left; intros x [<-|X]; auto.
    + right; exists w; split; [right; exact I|split; [exact H|]]. intros x [<-|X] Q; [lia|auto].
  - right; destruct IH as [IH|(w & I & H & K)].
    + exists y; split; [left; reflexivity|split; [exact L|]]. intros x [<-|X] Q; [lia|specialize (IH x X); lia].
    + destruct (Z_lt_le_dec y w) as [M|M].
      * exists w; split; [right; exact I|split; [exact H|]]. intros x [<-|X] Q; [lia|auto].
      * exists y; split; [left; reflexivity|split; [exact L|]]. intros x [<-|X] Q; [lia|specialize (K x X Q); lia].
Qed.
Lemma inside_same s v w : (forall x, In x (cuts s) -> (x <=? v) = (x <=? w)) -> inside s (Some v) = inside s (Some w).
Proof.
  induction s as [| |x|a IHa b IHb|a IHa b IHb]; simpl; intros H; try reflexivity.
  - apply H; left; reflexivity.
  - rewrite IHa, IHb; auto; intros x X; apply H, in_or_app; auto.
  - rewrite IHa, IHb; auto; intros x X; apply H, in_or_app; auto.
Qed.
Lemma no_value_true s : no_value s = true -> forall d, inside s d = false.
Proof.
  unfold no_value; rewrite forallb_forall; intros H d.
  assert (S : forall d, In d (samples s) -> inside s d = false) by (intros e I; apply negb_true_iff, H, I).
  destruct d as [v|]; [|apply S; left; reflexivity].
  destruct (nearest (cuts s) v) as [L|(w & I & L & K)].
  - rewrite (inside_same s v (below (cuts s))).
    + apply S; right; left; reflexivity.
    + intros x X. specialize (L x X). pose proof (below_all _ _ X).
      destruct (Z.leb_spec x v), (Z.leb_spec x (below (cuts s))); lia.
  - rewrite (inside_same s v w).
    + apply S; right; right. apply in_map; exact I.
    + intros x X. specialize (K x X). destruct (Z.leb_spec x v), (Z.leb_spec x w); try reflexivity; lia.
Qed.
Lemma no_value_false s : no_value s = false -> exists d, inside s d = true.
Proof.
  unfold no_value. induction (samples s) as [|d l IH]; simpl; [discriminate|].
  destruct (inside s d) eqn:E; simpl; [exists d; exact E|exact IH].
Qed.
#[global] Instance integers : Algebra := {|
  D := option Z; S_ := bounds; mem := inside; full := Any; inter := Both; minus := But; none := no_value;
  mem_full := fun _ => eq_refl; mem_inter := fun _ _ _ => eq_refl; mem_minus := fun _ _ _ => eq_refl;
  none_true := no_value_true; none_false := no_value_false |}.

(** a set in other units *)
Fixpoint moved (f : Z) (s : bounds) : bounds :=
  match s with
  | From x => From (x - f) | Both a b => Both (moved f a) (moved f b) | But a b => But (moved f a) (moved f b)
  | s => s
  end.
Lemma inside_moved f s d : inside (moved f s) d = inside s (option_map (fun v => v + f) d).
Proof.
  induction s as [| |x|a IHa b IHb|a IHa b IHb]; simpl; rewrite ?IHa, ?IHb; try reflexivity.
  - destruct d; reflexivity.
  - destruct d as [v|]; simpl; [|reflexivity]. destruct (Z.leb_spec (x - f) v), (Z.leb_spec x (v + f)); try reflexivity; lia.
Qed.
Definition only (k : Z) := But (From k) (From (k + 1)).
Lemma inside_only k d : inside (only k) d = match d with Some v => v =? k | None => false end.
Proof.
  unfold only; simpl; destruct d as [v|]; [|reflexivity].
  destruct (Z.leb_spec k v), (Z.leb_spec (k + 1) v), (Z.eqb_spec v k); simpl; try reflexivity; lia.
Qed.

(** *** Tuples (s, x, y): two cells by s, two attributes with units *)
Definition row := (bool * (option Z * option Z))%type.
Definition number (c : bool) := if c then 1 else 0.
Definition values (t : row) : tuple := fun i =>
  match i with O => Some (number (fst t)) | S O => fst (snd t) | S (S O) => snd (snd t) | _ => None end.
Definition plus (m : bool -> Z) (t : row) : row :=
  (fst t, (option_map (fun v => v + m false) (fst (snd t)), option_map (fun v => v + m true) (snd (snd t)))).
Definition boxes := list (bounds * bounds * bounds).
Definition as_region (r : boxes) : region := map (fun b => let '(s, x, y) := b in [s; x; y]) r.
Definition holds_row (r : boxes) (t : row) := Boxes.holds (as_region r) (values t).
Definition whole_row (c : bool) : boxes := [(only (number c), Any, Any)].
Definition pull_row (m : bool -> bool -> Z) (r : boxes) : boxes :=
  flat_map (fun c => map (fun b => let '(s, x, y) := b in (Both (only (number c)) s, moved (m c false) x, moved (m c true) y)) r) [true; false].
Definition shut_row (P : list boxes) (c : bool) := empty (difference (as_region (whole_row c)) (as_region (concat P))).

Lemma holds_rows r t : holds_row r t = existsb (fun b => let '(s, x, y) := b in
  inside s (Some (number (fst t))) && (inside x (fst (snd t)) && (inside y (snd (snd t)) && true))) r.
Proof. unfold holds_row, Boxes.holds, as_region. induction r as [|[[s x] y] r IH]; simpl; [reflexivity|rewrite IH; reflexivity]. Qed.
Lemma number_eq a c : (number a =? number c) = if bool_dec c a then true else false.
Proof. destruct a, c; reflexivity. Qed.
Lemma whole_ok c t : holds_row (whole_row c) t = if bool_dec c (fst t) then true else false.
Proof. rewrite holds_rows. unfold whole_row. cbn [existsb]. rewrite inside_only, number_eq. destruct (bool_dec c (fst t)); reflexivity. Qed.
Lemma pull_ok m r t : holds_row (pull_row m r) t = holds_row r (plus (m (fst t)) t).
Proof.
  rewrite !holds_rows. unfold pull_row. destruct t as [c [x y]]. cbn [flat_map fst snd]. rewrite !existsb_app.
  assert (K : forall a, existsb (fun b => let '(s, u, v) := b in inside s (Some (number c)) && (inside u x && (inside v y && true)))
      (map (fun b => let '(s, u, v) := b in (Both (only (number a)) s, moved (m a false) u, moved (m a true) v)) r)
    = (number c =? number a) && existsb (fun b => let '(s, u, v) := b in inside s (Some (number c)) &&
        (inside u (option_map (fun w => w + m a false) x) && (inside v (option_map (fun w => w + m a true) y) && true))) r).
  { intros a. induction r as [|[[s u] v] r IH]; [rewrite andb_false_r; reflexivity|]. cbn [map existsb].
    rewrite IH. cbn [inside]. rewrite inside_only, !inside_moved. destruct (number c =? number a); reflexivity. }
  rewrite !K. destruct c; simpl; rewrite ?orb_false_r; reflexivity.
Qed.
Lemma as_region_app a b : as_region (a ++ b) = as_region a ++ as_region b.
Proof. apply map_app. Qed.
Lemma concat_holds P t : holds_row (concat P) t = true <-> exists r, In r P /\ holds_row r t = true.
Proof.
  unfold holds_row. induction P as [|r P IH]; simpl.
  - split; [discriminate|intros [r [[] _]]].
  - rewrite as_region_app, holds_app, orb_true_iff, IH. split.
    + intros [H|[q [I H]]]; eauto.
    + intros [q [[<-|I] H]]; eauto.
Qed.
(** a region of three attributes is about rows *)
Lemma to_row (f : tuple) c : inside (only (number c)) (f 0%nat) = true ->
  forall r, Boxes.holds (as_region r) f = holds_row r (c, (f 1%nat, f 2%nat)).
Proof.
  intros H r. rewrite inside_only in H. destruct (f 0%nat) as [v|] eqn:E; [|discriminate]. apply Z.eqb_eq in H; subst v.
  unfold holds_row, Boxes.holds, as_region. induction r as [|[[s x] y] r IH]; simpl; [reflexivity|].
  simpl in IH. rewrite IH, E; reflexivity.
Qed.
Lemma shut_ok P c : shut_row P c = true <-> forall t, fst t = c -> exists r, In r P /\ holds_row r t = true.
Proof.
  unfold shut_row. rewrite (empty_exact (Al := integers) (fun _ => @None Z)). split.
  - intros H t E. apply concat_holds. specialize (H (values t)). rewrite holds_difference in H.
    change (Boxes.holds (as_region (whole_row c)) (values t)) with (holds_row (whole_row c) t) in H.
    rewrite whole_ok in H. destruct (bool_dec c (fst t)); [|congruence]. apply negb_false_iff in H; exact H.
  - intros H f. rewrite holds_difference. destruct (Boxes.holds (as_region (whole_row c)) f) eqn:W; [|reflexivity].
    assert (O : inside (only (number c)) (f 0%nat) = true).
    { unfold whole_row, as_region, Boxes.holds in W; cbn [map existsb inb mem integers] in W.
      rewrite orb_false_r in W. apply andb_true_iff in W as [W _]; exact W. }
    rewrite (to_row f c O). apply negb_false_iff, concat_holds, H. reflexivity.
Qed.

#[global, refine] Instance integer_rows : World := {|
  C := bool; A := bool; F := Z; T := row; C_dec := bool_dec; A_dec := bool_dec; F_dec := Z.eq_dec;
  cells := [true; false]; attrs := [true; false];
  one := 0; mul := Z.add; Streams.inv := Z.opp;
  cell := fst; has := fun t x => match (if x then snd (snd t) else fst (snd t)) with Some _ => true | None => false end; chg := plus;
  R := boxes; Streams.holds := holds_row; whole := whole_row; pull := pull_row; shut := shut_row |}.
Proof.
  - destruct c; simpl; auto.
  - repeat constructor; simpl; intuition discriminate.
  - destruct x; simpl; auto.
  - repeat constructor; simpl; intuition discriminate.
  - intros; lia.
  - intros; lia.
  - intros; lia.
  - intros; lia.
  - intros m n t H; unfold plus; rewrite !H; reflexivity.
  - intros [c [x y]]; unfold plus; simpl. destruct x, y; simpl; rewrite ?Z.add_0_r; reflexivity.
  - intros m n [c [x y]]; unfold plus; simpl. assert (E : forall v a b, v + b + a = v + (a + b)) by (intros; lia).
    destruct x, y; simpl; rewrite ?E; reflexivity.
  - reflexivity.
  - intros m [c [x y]] [|]; simpl; [destruct y|destruct x]; reflexivity.
  - exact whole_ok.
  - exact pull_ok.
  - exact shut_ok.
Defined.
