(** The theorem about plans of select, project, window, union, join and aggregate.
    No axioms. *)
From Coq Require Import List Permutation Bool.
From Cedilla Require Import Events Ops D1 Streams Node Feeders Plan.
Import ListNotations.

Section Theory.
  Context {W : World}.
  Notation hist := (list (nat * event T R)).

  (** the six operators with what they assume of their functions, and their relational answers *)
  Inductive six : op -> answer -> activity -> Prop :=
  | six_select q passes : (forall t, q t = true -> passes (cell t) = true) ->
      six (select q passes) (fun l _ _ => filter q l) always
  | six_project g without : (forall t, cell (g t) = without (cell t)) -> (forall t x, has (g t) x = true -> has t x = true) ->
      six (project g without) (fun l _ _ => map g l) always
  | six_window w windows : (forall t u, In u (w t) -> In (cell u) (windows (cell t))) ->
      (forall t u x, In u (w t) -> has u x = true -> has t x = true) ->
      six (window w windows) (fun l _ _ => flat_map w l) always
  | six_union : six union (fun l r _ => l ++ r) always
  | six_join J meet (keep0 keep1 : hist -> T -> bool) :
      (forall t u v, In v (J t u) -> meet 0 (cell t) (cell v) = true) ->
      (forall t u v, In v (J t u) -> meet 1 (cell u) (cell v) = true) ->
      (forall t u v x, In v (J t u) -> has v x = true -> has t x = true \/ has u x = true) ->
      (forall h t, keep0 h t = false -> forall u, J t u <> [] -> closed holds (regs 1 h) u) ->
      (forall h u, keep1 h u = false -> forall t, J t u <> [] -> closed holds (regs 0 h) t) ->
      (forall h e t, keep0 (h ++ [e]) t = true -> keep0 h t = true) ->
      (forall h e t, keep1 (h ++ [e]) t = true -> keep1 h t = true) ->
      six (join J meet keep0 keep1) (fun l r _ => pairs T J l r) (pairing meet)
  | six_aggregate G G_dec (grp : T -> G) agg fibre gcell member :
      (forall t, In (cell t) (fibre (grp t))) -> (forall g c, In c (fibre g) -> member c (gcell g) = true) ->
      (forall g l, cell (agg g l) = gcell g) ->
      (forall g l x, has (agg g l) x = true -> exists t, In t l /\ has t x = true) ->
      (forall g l l', Permutation l l' -> agg g l = agg g l') ->
      six (aggregate G G_dec grp agg fibre gcell member) (fun l _ p => rows G G_dec grp agg fibre l p) always.
  Lemma six_sound o a b : six o a b -> operator o /\ gives o a /\ active o b.
  Proof.
    destruct 1; (split; [|split]); try (apply always_active; reflexivity).
    - apply select_feeders; assumption.
    - apply select_gives; assumption.
    - apply project_feeders; assumption.
    - apply project_gives; assumption.
    - apply window_feeders; assumption.
    - apply window_gives; assumption.
    - apply union_feeders.
    - apply union_gives.
    - apply join_feeders; assumption.
    - apply join_gives; assumption.
    - apply join_active.
    - apply aggregate_feeders; assumption.
    - apply aggregate_gives; assumption.
  Qed.
  Fixpoint of_six (p : plan) : Prop :=
    match p with
    | Source _ => True
    | Unary o a b p => six o a b /\ of_six p
    | Binary o a b p q => six o a b /\ of_six p /\ of_six q
    end.
  Lemma of_six_sound p : of_six p -> sound p.
  Proof.
    induction p as [n|o a b p IH|o a b p IHp q IHq]; simpl; [auto| |].
    - intros [S P]; destruct (six_sound _ _ _ S); auto.
    - intros (S & P & Q); destruct (six_sound _ _ _ S); auto.
  Qed.

  Variables (begins : nat -> rd) (items : nat -> list item).
  Hypothesis begins_fresh : forall n, fresh (begins n).
  Hypothesis items_good : forall n, good (begins n) (items n).

  (** For every plan of the six operators over valid, grammatical sources, in any interleaving
      and under any rule for Alters: the output is valid and grammatical; it decodes to the
      relational plan over what is closed; and those cells are closed of which all feeders
      are, or, for a join, for which one input has had no tuple and is closed (J1). *)
  Theorem plans rule p out : of_six p -> yields rule begins items p out ->
    valid (starts begins p) out /\ grammatical (starts begins p) out /\
    Permutation (content (starts begins p) out) (relational begins items p) /\
    (forall d, shut (cl (reads (starts begins p) out)) d = closed_cells begins items p d).
  Proof.
    intros S Y. destruct (plan_correct rule begins items begins_fresh items_good p out (of_six_sound p S) Y) as ([V G] & L & P). auto.
  Qed.

  (** ... and under D1's rule, every live cell that has an attribute stands in the units of the
      live source cells that feed it and have it, if they share them, and no state on the way
      holds a Drop of it. *)
  Theorem plans_progress x p out d : of_six p -> settles (latest F) begins items any x p out d ->
    forall f, has_live (reads (starts begins p) out) d x ->
    (forall n c, reach p n c d -> has_live (reads (begins n) (items n)) c x -> own (reads (begins n) (items n)) c x = f) ->
    own (reads (starts begins p) out) d x = f.
  Proof. intros S; apply plan_progress; [exact begins_fresh|exact items_good|apply of_six_sound, S]. Qed.

  (** ... under D2's rule, too, where no cell on the way is excused (Plan.new_or_common) *)
  Theorem plans_progress_d2 x p out d : of_six p -> settles (next F F_dec) begins items new_or_common x p out d ->
    forall f, has_live (reads (starts begins p) out) d x ->
    (forall n c, reach p n c d -> has_live (reads (begins n) (items n)) c x -> own (reads (begins n) (items n)) c x = f) ->
    own (reads (starts begins p) out) d x = f.
  Proof. intros S; apply plan_progress_d2; [exact begins_fresh|exact items_good|apply of_six_sound, S]. Qed.
End Theory.
