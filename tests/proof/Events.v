(** Canonical events, and an operator as the results that each event releases. *)
From Coq Require Import List.
Import ListNotations.

Section Events.
  Variables T R : Type.
  (** an event is a canonical tuple or a canonical region that is closed *)
  Inductive event := ET (t : T) | EP (r : R).
  Fixpoint tup (e : list event) : list T :=
    match e with [] => [] | ET t :: e => t :: tup e | EP _ :: e => tup e end.
  Lemma tup_app a b : tup (a ++ b) = tup a ++ tup b.
  Proof. induction a as [|e a IH]; simpl; [reflexivity|destruct e; simpl; rewrite IH; reflexivity]. Qed.

  (** [step h e]: the results that event [e] releases after the history [h] *)
  Variable step : list (nat * event) -> nat * event -> list T.
  Fixpoint steps (h e : list (nat * event)) : list T :=
    match e with [] => [] | a :: e => step h a ++ steps (h ++ [a]) e end.
  Lemma steps_append h a b : steps h (a ++ b) = steps h a ++ steps (h ++ a) b.
  Proof.
    revert h; induction a as [|e a IH]; intros h; simpl; [rewrite app_nil_r; reflexivity|].
    rewrite IH, <- !app_assoc; reflexivity.
  Qed.
  Lemma steps_app h e a : steps h (e ++ [a]) = steps h e ++ step (h ++ e) a.
  Proof. rewrite steps_append; simpl; rewrite app_nil_r; reflexivity. Qed.
End Events.
Arguments ET {T R}. Arguments EP {T R}. Arguments tup {T R}. Arguments steps {T R}. Arguments steps_app {T R}.
Arguments steps_append {T R}. Arguments tup_app {T R}.
