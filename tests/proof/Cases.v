(** Tables of what the definitions compute, for the oracle in Python
    (tests/laws/cell_oracle.py).  `make proof` compares what Coq prints with cases.txt. *)
From Coq Require Import List Bool Arith.
From Cedilla Require Import D1 Without.
Import ListNotations.

Definition functions := [0; 1; 2].
Definition extended (h : list nat) := map (fun f => f :: h) functions.
Definition histories1 := extended [].
Definition histories2 := histories1 ++ flat_map extended histories1.
Definition started := map (fun h => h ++ [0]) ([] :: histories2).
Definition announced (f : nat) := map (cons f) [[]; [(f + 1) mod 3]; [(f + 2) mod 3]; [(f + 1) mod 3; (f + 2) mod 3]].
Definition bits := [false; true].

(** common functions, own function, announced functions: the next function *)
Definition next_cases :=
  flat_map (fun h => flat_map (fun f => map (fun s => ((h, f), (s, next nat Nat.eq_dec s h f))) (announced f)) functions) ([] :: histories2).
Goal True. idtac "? next". Abort.
Eval vm_compute in next_cases.

(** two histories: what is common to them *)
Definition common_cases := flat_map (fun a => map (fun b => (a, b, lcs nat Nat.eq_dec a b)) started) started.
Goal True. idtac "? common". Abort.
Eval vm_compute in common_cases.

(** two feeders, presence, own function, whether state keeps the attribute: presence, own
    function, announced functions and closedness afterwards *)
Definition feeders := flat_map (fun l => flat_map (fun p => map (Fd nat l p) [[0]; [2; 0]]) bits) bits.
Definition shown (x : feeder nat) := (live nat x, pres nat x, hist nat x).
Definition state p f := St nat [] p f (if f =? 0 then [0] else [f; 0]) false false.
Definition after s l kp :=
  let s' := step nat Nat.eq_dec 0 (next nat Nat.eq_dec) s (Ev nat l [] kp) in
  (opres nat s', o nat s', said nat s', oclosed nat s').
Definition step_cases :=
  flat_map (fun x => flat_map (fun y => flat_map (fun p => map (fun kp =>
    ([shown x; shown y], (p, 1, kp), after (state p 1) [x; y] kp)) bits) bits) feeders) feeders.
Goal True. idtac "? step". Abort.
Eval vm_compute in step_cases.

(** two cells of two values: which tuples change, where none can come: the cells announced *)
Definition quads := flat_map (fun a => flat_map (fun b => flat_map (fun c => map (fun d => [a; b; c; d]) bits) bits) bits) bits.
Definition at_ (q : list bool) (c v : nat) := nth (2 * c + v) q false.
Definition without_cases :=
  flat_map (fun r => map (fun n => (r, n, map (inner_b nat nat [0; 1] (at_ r) (at_ n)) [0; 1])) quads) quads.
Goal True. idtac "? without". Abort.
Eval vm_compute in without_cases.
