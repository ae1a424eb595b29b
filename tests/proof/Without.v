From Coq Require Import List Bool.

(** G23 at an output: an Alter of x is announced for a region that does not name x.
    [R c v]: tuples of cell c with value v are to change; [N c v]: none can come there. *)
Section Without.
  Variables C V : Type.
  Definition rel := C -> V -> Prop.
  Definition allowed (R N : rel) (P : C -> Prop) :=
    (forall c, P c -> exists v, R c v) /\ (forall c v, P c -> R c v \/ N c v).
  (** repaired: difference(grown, exists(gained, {x})) *)
  Definition inner (R N : rel) c := (exists v, R c v) /\ forall v, R c v \/ N c v.
  (** built: grown if nothing at all is gained, else nothing *)
  Definition built (R N : rel) c := (exists v, R c v) /\ forall c' v, (exists w, R c' w) -> R c' v \/ N c' v.
  Theorem inner_allowed (R N : rel) : allowed R N (inner R N).
  Proof. split; unfold inner; [tauto|intros c v [_ H]; apply H]. Qed.
  Theorem inner_largest (R N : rel) P : allowed R N P -> forall c, P c -> inner R N c.
  Proof. intros [E A] c H; split; [apply E, H|intro v; apply A, H]. Qed.
  Theorem built_smaller (R N : rel) c : built R N c -> inner R N c.
  Proof. intros [E A]; split; [exact E|intro v; apply A, E]. Qed.
  (** divide (R8): the inner region of a union of regions on different cells is the union *)
  Theorem inner_divides (R S N : rel) : (forall c v w, R c v -> S c w -> False) ->
    forall c, inner (fun c v => R c v \/ S c v) N c <-> inner R N c \/ inner S N c.
  Proof.
    intros D c; split.
    - intros [[v [H|H]] A]; [left|right]; (split; [exists v; exact H|]);
        intro w; destruct (A w) as [[K|K]|K]; auto; exfalso; eapply D; eauto.
    - intros [[[v H] A]|[[v H] A]]; (split; [exists v; auto|]); intro w; destruct (A w); auto.
  Qed.

  (** the same as a computation, where all values are listed *)
  Definition inner_b (values : list V) (R N : C -> V -> bool) c :=
    existsb (R c) values && forallb (fun v => R c v || N c v) values.
  Theorem inner_b_is_inner values R N : (forall v, In v values) -> forall c,
    inner_b values R N c = true <-> inner (fun c v => R c v = true) (fun c v => N c v = true) c.
  Proof.
    intros A c; unfold inner_b, inner; rewrite andb_true_iff, existsb_exists, forallb_forall; split.
    - intros [[v [_ H]] G]; split; [exists v; exact H|intro w; apply orb_true_iff, G, A].
    - intros [[v H] G]; split; [exists v; auto|intros w _; apply orb_true_iff, G].
  Qed.
End Without.
(** two cells; in the second only one value changes: the built rule says nothing of the first *)
Theorem built_swallows : exists (R N : rel bool bool),
  inner bool bool R N true /\ ~ built bool bool R N true.
Proof.
  exists (fun c v => c = true \/ v = true), (fun _ _ => False). split.
  - split; [exists true; auto|auto].
  - intros [_ H]. destruct (H false false) as [[X|X]|X]; [exists true; auto|discriminate|discriminate|exact X].
Qed.
