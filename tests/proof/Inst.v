(** The laws are not vacuous: tuples of two attributes over integers, an Alter y -> y + 3
    of [x] where [s = 2]; and what the theorems rest on. *)
From Coq Require Import List Bool ZArith Permutation.
From Cedilla Require Import Data Ops D1.
Import ListNotations.
Open Scope Z_scope.

Definition tup2 := (option Z * option Z)%type.        (* s, x *)
Definition get (t : tup2) (a : bool) := if a then fst t else snd t.
Definition set (t : tup2) (a : bool) (v : option Z) : tup2 := if a then (v, snd t) else (fst t, v).
Lemma get_set t a v : get (set t a v) a = v. Proof. destruct t, a; reflexivity. Qed.
Lemma set_set t a v w : set (set t a v) a w = set t a w. Proof. destruct t, a; reflexivity. Qed.
Lemma set_get t a : set t a (get t a) = t. Proof. destruct t, a; reflexivity. Qed.

Definition two (t : tup2) := match fst t with Some 2 => true | _ => false end.
Definition plus3 : alter bool Z tup2 set.
Proof.
  refine (Alter bool Z tup2 set false two (fun v => v + 3) (fun v => v - 3) _ _ _); intros; [destruct t; reflexivity| |];
    [rewrite <- Z.add_sub_assoc, Z.sub_diag, Z.add_0_r|rewrite Z.sub_add]; reflexivity.
Defined.
Example decoded : canon bool Z tup2 get set
    [Tu _ _ _ _ (Some 2, Some 10); Al _ _ _ _ plus3; Tu _ _ _ _ (Some 2, Some 10); Tu _ _ _ _ (Some 1, Some 10)]
  = [(Some 2, Some 10); (Some 2, Some 7); (Some 1, Some 10)].
Proof. reflexivity. Qed.


(** *** A plan over the rows of Integers.v: a union of two sources.  Source 0 moves y by 3 where
    s is true, then source 1 does; the output says it once, and only then. *)
From Cedilla Require Import Integers Streams Node Feeders Plan Theory.
Definition all_present : rd := Rd (W := integer_rows) (fun _ _ => true) (fun _ _ => [0]) [].
Definition moved3 : item (W := integer_rows) := Streams.Al true (isc true) 3.
Definition tuple_of (v : Z) : item (W := integer_rows) := Streams.Tu (W := integer_rows) (true, (None, Some v)).
Definition first := [moved3; tuple_of 13].
Definition second := [tuple_of 20; moved3; tuple_of 24].
Definition merged := [(0%nat, moved3); (0%nat, tuple_of 13); (1%nat, tuple_of 20); (1%nat, moved3); (1%nat, tuple_of 24)].
Definition items_of (n : nat) := match n with O => first | S O => second | _ => [] end.
Definition the_plan : plan (W := integer_rows) := Binary union (fun l r _ => l ++ r) always (Source 0) (Source 1).
Definition the_output := output (W := integer_rows) (next Z Z.eq_dec) union (both all_present all_present) merged.
Example in_order : map (fun i => match i with Streams.Tu (_, (_, Some v)) => (0, v) | Streams.Al _ _ f => (1, f) | _ => (2, 0) end) the_output
  = [(0, 10); (0, 20); (1, 3); (0, 24)].
Proof. vm_compute; reflexivity. Qed.
Example decoded_rows : content (W := integer_rows) (starts (fun _ => all_present) the_plan) the_output
  = [(true, (None, Some 10)); (true, (None, Some 20)); (true, (None, Some 21))].
Proof. vm_compute; reflexivity. Qed.
Example in_units_of_both : own (W := integer_rows) (reads (starts (fun _ => all_present) the_plan) the_output) true true = 3.
Proof. vm_compute; reflexivity. Qed.
Lemma sources_good n : good all_present (items_of n).
Proof.
  destruct n as [|[|n]]; split; simpl; repeat split; auto; intros; try contradiction; try reflexivity.
Qed.
Theorem the_plan_is_right : valid (starts (fun _ => all_present) the_plan) the_output
  /\ Permutation (content (starts (fun _ => all_present) the_plan) the_output) (relational (fun _ => all_present) items_of the_plan).
Proof.
  assert (Fr : forall n : nat, fresh all_present) by (intros n; split; reflexivity).
  assert (Six : of_six the_plan) by (simpl; repeat split; constructor).
  assert (Y : yields (next Z Z.eq_dec) (fun _ => all_present) items_of the_plan the_output).
  { apply y_binary with (l := first) (r := second) (s := merged);
      [apply (y_source _ _ items_of 0)|apply (y_source _ _ items_of 1)| |reflexivity|reflexivity].
    intros x I; unfold merged in I; simpl in I. intuition (subst; simpl; auto). }
  destruct (plans (fun _ => all_present) items_of Fr sources_good _ _ _ Six Y) as (V & _ & L & _). split; assumption.
Qed.

(** *** A cell whose first feeder has closed after the cell announced its function 2; the other
    one stands at 1.  The rule without announced functions stays at 2, D2 goes to 1, and
    nothing leads back to 2. *)
Definition two_feeders := [Fd nat false true [2; 0]%nat; Fd nat true true [1; 0]%nat].
Definition stuck := D1.St nat [] true 2%nat [2; 0]%nat false false.
Example built_stays : next_built nat Nat.eq_dec (common nat Nat.eq_dec two_feeders) 2%nat = 2%nat.
Proof. reflexivity. Qed.
Example d2_goes : D1.o nat (D1.step nat Nat.eq_dec 0%nat (next nat Nat.eq_dec) stuck (D1.Ev nat two_feeders [] false)) = 1%nat.
Proof. reflexivity. Qed.
Example no_way_back : next nat Nat.eq_dec [1; 2; 0]%nat [2; 0]%nat 1%nat = 1%nat.
Proof. reflexivity. Qed.
