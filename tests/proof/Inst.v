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

