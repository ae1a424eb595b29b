(** Table 2.8: what an Alter y -> a y + b of the argument does to an aggregate, over exact
    fractions.  No axioms. *)
From Coq Require Import List QArith Qminmax Lqa Lia.
Import ListNotations.
Open Scope Q_scope.

Section Aggregates.
  Variables a b : Q.
  Definition alter (y : Q) := a * y + b.
  Definition size (l : list Q) : Q := inject_Z (Z.of_nat (length l)).
  Fixpoint sum (l : list Q) : Q := match l with [] => 0 | y :: l => y + sum l end.
  Definition avg (l : list Q) := sum l / size l.
  Definition var (l : list Q) := sum (map (fun y => (y - avg l) * (y - avg l)) l) / size l.
  Fixpoint least (y : Q) (l : list Q) := match l with [] => y | z :: l => Qmin y (least z l) end.
  Fixpoint greatest (y : Q) (l : list Q) := match l with [] => y | z :: l => Qmax y (greatest z l) end.

  Lemma size_cons y l : size (y :: l) == 1 + size l.
  Proof. unfold size; cbn [length]. rewrite Nat2Z.inj_succ, <- Z.add_1_l, inject_Z_plus; reflexivity. Qed.
  Lemma size_map (f : Q -> Q) l : size (map f l) = size l.
  Proof. unfold size; rewrite map_length; reflexivity. Qed.
  Lemma size_positive y l : ~ size (y :: l) == 0.
  Proof.
    unfold size, Qeq, inject_Z; cbn [length Qnum Qden]. lia.
  Qed.

  (** the sum takes the offset once for each value *)
  Theorem sum_alter l : sum (map alter l) == a * sum l + b * size l.
  Proof.
    induction l as [|y l IH]; [unfold size; simpl; ring|].
    cbn [map sum]. rewrite IH, size_cons. unfold alter; ring.
  Qed.
  (** so it follows an Alter without an offset *)
  Corollary sum_scale l : b == 0 -> sum (map alter l) == a * sum l.
  Proof. intros E; rewrite sum_alter, E; ring. Qed.
  Theorem avg_alter y l : avg (map alter (y :: l)) == alter (avg (y :: l)).
  Proof. unfold avg. rewrite sum_alter, size_map. unfold alter. field. apply size_positive. Qed.
  Lemma sum_ext (f g : Q -> Q) l : (forall y, f y == g y) -> sum (map f l) == sum (map g l).
  Proof. intros H; induction l as [|y l IH]; simpl; [reflexivity|rewrite H, IH; reflexivity]. Qed.
  Lemma sum_mul c (f : Q -> Q) l : sum (map (fun y => c * f y) l) == c * sum (map f l).
  Proof. induction l as [|y l IH]; simpl; [ring|rewrite IH; ring]. Qed.
  Theorem var_alter y l : var (map alter (y :: l)) == a * a * var (y :: l).
  Proof.
    unfold var. rewrite size_map, map_map.
    rewrite (sum_ext _ (fun z => (a * a) * ((z - avg (y :: l)) * (z - avg (y :: l))))).
    - rewrite sum_mul. field. apply size_positive.
    - intros z. rewrite avg_alter. unfold alter; ring.
  Qed.
  Theorem count_alter l : length (map alter l) = length l.
  Proof. apply map_length. Qed.

  (** first and last are values of the list *)
  Theorem first_alter y l d : hd d (map alter (y :: l)) = alter (hd d (y :: l)).
  Proof. reflexivity. Qed.
  Theorem last_alter y l d : last (map alter (y :: l)) (alter d) = alter (last (y :: l) d).
  Proof.
    revert y; induction l as [|z l IH]; intros y; [reflexivity|].
    change (last (map alter (y :: z :: l)) (alter d)) with (last (map alter (z :: l)) (alter d)). rewrite IH; reflexivity.
  Qed.

  (** a function that rises keeps the least and the greatest value *)
  Hypothesis rises : 0 < a.
  Lemma alter_le y z : y <= z -> alter y <= alter z.
  Proof. intros L; unfold alter. apply Qplus_le_l. apply Qmult_le_l; assumption. Qed.
  Lemma alter_min y z : alter (Qmin y z) == Qmin (alter y) (alter z).
  Proof.
    destruct (Q.min_spec y z) as [[L E]|[L E]], (Q.min_spec (alter y) (alter z)) as [[M G]|[M G]]; rewrite G; unfold alter in *; rewrite E; try reflexivity.
    - apply Qle_antisym; [apply alter_le, Qlt_le_weak, L|exact M].
    - apply Qle_antisym; [apply alter_le, L|apply Qlt_le_weak, M].
  Qed.
  Lemma alter_max y z : alter (Qmax y z) == Qmax (alter y) (alter z).
  Proof.
    destruct (Q.max_spec y z) as [[L E]|[L E]], (Q.max_spec (alter y) (alter z)) as [[M G]|[M G]]; rewrite G; unfold alter in *; rewrite E; try reflexivity.
    - apply Qle_antisym; [exact M|apply alter_le, Qlt_le_weak, L].
    - apply Qle_antisym; [apply Qlt_le_weak, M|apply alter_le, L].
  Qed.
  Theorem least_alter l : forall y, least (alter y) (map alter l) == alter (least y l).
  Proof.
    induction l as [|z l IH]; intros y; [reflexivity|]. cbn [map least]. rewrite alter_min, IH; reflexivity.
  Qed.
  Theorem greatest_alter l : forall y, greatest (alter y) (map alter l) == alter (greatest y l).
  Proof.
    induction l as [|z l IH]; intros y; [reflexivity|]. cbn [map greatest]. rewrite alter_max, IH; reflexivity.
  Qed.
End Aggregates.

(** with an offset, no function of the sum is the sum of the altered values *)
Theorem sum_needs_no_offset b : ~ b == 0 -> ~ exists f : Q -> Q, forall l, sum (map (alter 1 b) l) == f (sum l).
Proof.
  intros N [f H]. pose proof (H [0]) as H1. pose proof (H [0; 0]) as H2. unfold alter in *; simpl in *.
  change (0 + (0 + 0)) with (0 + 0) in H2. rewrite <- H1 in H2. apply N. lra.
Qed.
(** a function that falls turns the least value into the greatest *)
Theorem falling_turns : exists a b y l, ~ least (alter a b y) (map (alter a b) l) == alter a b (least y l).
Proof. exists (-(1)), 0, 1, [2]. unfold alter; vm_compute; discriminate. Qed.
