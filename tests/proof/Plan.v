(** Plans: operators over operators.  An output is a raw stream, so it is an input of the next
    operator; the interleaving of two inputs is any.  No axioms. *)
From Coq Require Import List Permutation Bool Arith Lia.
From Cedilla Require Import Events Ops D1 Streams Node Feeders.
Import ListNotations.

Section Plan.
  Context {W : World}.
  Inductive plan :=
  | Source (n : nat)
  | Unary (o : op) (a : answer) (b : activity) (p : plan)
  | Binary (o : op) (a : answer) (b : activity) (p q : plan).

  (** the operators of a plan have right feeders, and give their relational answers *)
  Fixpoint sound (p : plan) : Prop :=
    match p with
    | Source _ => True
    | Unary o a b p => operator o /\ (gives o a /\ active o b) /\ sound p
    | Binary o a b p q => operator o /\ (gives o a /\ active o b) /\ sound p /\ sound q
    end.

  Variable rule : list F -> list F -> F -> F.
  (** the sources: what a reader knows of each before its first item, and its items *)
  Variables (begins : nat -> rd) (items : nat -> list item).
  Hypothesis begins_fresh : forall n, fresh (begins n).
  Hypothesis items_good : forall n, good (begins n) (items n).

  Definition nothing : rd := Rd (fun _ _ => false) (fun _ _ => [one]) [].
  Definition both (a b : rd) : ins := fun n => match n with 0 => a | 1 => b | _ => nothing end.
  Fixpoint starts (p : plan) : rd :=
    match p with
    | Source n => begins n
    | Unary o _ _ p => out0 o (both (starts p) nothing)
    | Binary o _ _ p q => out0 o (both (starts p) (starts q))
    end.
  Definition inputs (p : plan) : ins :=
    match p with
    | Source _ => fun _ => nothing
    | Unary _ _ _ p => both (starts p) nothing
    | Binary _ _ _ p q => both (starts p) (starts q)
    end.

  (** the raw streams that a plan can give: one for each interleaving of its inputs *)
  Inductive yields : plan -> list item -> Prop :=
  | y_source n : yields (Source n) (items n)
  | y_unary o a b p l s : yields p l -> (forall x, In x s -> fst x < 2) -> input 0 s = l -> input 1 s = [] ->
      yields (Unary o a b p) (output rule o (both (starts p) nothing) s)
  | y_binary o a b p q l r s : yields p l -> yields q r -> (forall x, In x s -> fst x < 2) ->
      input 0 s = l -> input 1 s = r ->
      yields (Binary o a b p q) (output rule o (both (starts p) (starts q)) s).

  (** *** The relational plan, and which cells are closed, from the sources alone: a cell is
      closed if it has no tuples, or all of its feeders are closed, or the operator says by the
      tuples so far that none can come *)
  Definition empty (d : C) := shut [] d.
  Definition shut_over (o : op) (b : activity) (l r : list T) (p q : C -> bool) (d : C) :=
    empty d || negb (existsb (fun x => negb (match fst x with 0 => p (snd x) | _ => q (snd x) end)) (sources o d) && b l r p q d).
  Fixpoint meaning (p : plan) : list T * (C -> bool) :=
    match p with
    | Source n => (content (begins n) (items n), shut (cl (reads (begins n) (items n))))
    | Unary o a b p =>
        let '(l, c) := meaning p in (a l [] c, shut_over o b l [] c empty)
    | Binary o a b p q =>
        let '(l, c) := meaning p in let '(r, e) := meaning q in (a l r c, shut_over o b l r c e)
    end.
  Definition relational (p : plan) : list T := fst (meaning p).
  Definition closed_cells (p : plan) : C -> bool := snd (meaning p).

  Lemma starts_fresh p : fresh (starts p).
  Proof. destruct p; simpl; [apply begins_fresh| |]; split; reflexivity. Qed.
  Lemma nothing_fresh : fresh nothing. Proof. split; reflexivity. Qed.
  Lemma both_fresh a b : fresh a -> fresh b -> forall n, fresh (both a b n).
  Proof. intros A B [|[|n]]; simpl; auto using nothing_fresh. Qed.

  (** which cells a reader of an operator's output knows to be closed *)
  Lemma shut_output o st h m r d : agrees o st h m r ->
    shut (cl r) d = empty d || negb (awake o st h d).
  Proof.
    intros Ag. destruct (empty d) eqn:E; simpl.
    - apply (shut_more [] (cl r)); [contradiction|exact E].
    - destruct (awake o st h d) eqn:Aw; simpl.
      + apply not_true_iff_false; intros S. unfold empty in E. apply not_true_iff_false in E. apply E.
        apply shut_exact; intros t Et. destruct (shut_sound _ _ S t Et) as [p [P X]].
        destruct (ag_true _ _ _ _ _ Ag p P) as (d' & D & Q). rewrite Q in X. apply isc_eq in X. congruence.
      + apply shut_exact; intros t Et. destruct (ag_shut _ _ _ _ _ Ag d Aw) as (p & P & Q).
        exists p; split; [exact P|]. rewrite Q, Et. apply isc_refl.
  Qed.

  (** one operator of a plan *)
  Lemma plan_node o a b st s pa pb la lb : operator o -> gives o a /\ active o b -> (forall n, fresh (st n)) ->
    (forall x, In x s -> fst x < 2) -> (forall n, n < 2 -> good (st n) (input n s)) ->
    Permutation (content (st 0) (input 0 s)) la -> Permutation (content (st 1) (input 1 s)) lb ->
    (forall d, shut (cl (reads (st 0) (input 0 s))) d = pa d) -> (forall d, shut (cl (reads (st 1) (input 1 s))) d = pb d) ->
    good (out0 o st) (output rule o st s) /\
    Permutation (content (out0 o st) (output rule o st s)) (a la lb pa) /\
    (forall d, shut (cl (reads (out0 o st) (output rule o st s))) d = shut_over o b la lb pa pb d).
  Proof.
    intros Op [[Gv Resp] [Ac Same]] Fr T2 G La Lb Pa Pb.
    assert (GI : good_ins st s) by (apply good_ins_iff; assumption).
    destruct (node_ok rule o Op st s Fr GI) as [K1 K2]. split; [exact K1|].
    pose proof (ends_ins rule o s st [] (ctl0 o st)) as E. unfold final in K2.
    destruct (ends rule o st [] (ctl0 o st) s) as [[st' h'] m']. destruct K2 as [K2 K3], E as [E1 E2]. split.
    - rewrite K2. rewrite (Gv h' (ag_gram _ _ _ _ _ K3) (ag_bin _ _ _ _ _ K3)). apply Resp.
      + rewrite (E2 0); exact La.
      + rewrite (E2 1); exact Lb.
      + intros c. unfold closed_in. rewrite <- (ag_cl _ _ _ _ _ K3), E1. apply Pa.
    - intros d. rewrite (shut_output _ _ _ _ _ d K3). unfold shut_over. f_equal. f_equal. unfold awake.
      assert (Bz : busy o h' d = b la lb pa pb d).
      { rewrite Ac. apply Same; [rewrite (E2 0); exact La|rewrite (E2 1); exact Lb| |]; intros c; unfold closed_in;
          rewrite <- (ag_cl _ _ _ _ _ K3), E1; [apply Pa|apply Pb]. }
      rewrite Bz. clear - E1 Pa Pb.
      assert (X : forall x, In x (sources o d) -> negb (shut (cl (st' (fst x))) (snd x)) = negb (match fst x with 0 => pa (snd x) | _ => pb (snd x) end)).
      { intros [n c] I; simpl. apply filter_In in I as [I _]. apply in_prod_iff in I as [I _].
        rewrite E1. destruct I as [<-|[<-|[]]]; [rewrite Pa|rewrite Pb]; reflexivity. }
      clear - X. induction (sources o d) as [|x l IH]; simpl; [reflexivity|].
      rewrite (X x (or_introl eq_refl)), IH; [|intros y Y; apply X; right; exact Y].
      destruct (negb (match fst x with 0 => _ | _ => _ end)), (b la lb pa pb d); simpl; rewrite ?andb_true_r, ?andb_false_r; reflexivity.
  Qed.

  (** the plan theorem: valid and grammatical; the relational answer over what is closed; and
      exactly those cells are closed whose feeders are *)
  Theorem plan_correct p out : sound p -> yields p out ->
    good (starts p) out /\
    Permutation (content (starts p) out) (relational p) /\
    (forall d, shut (cl (reads (starts p) out)) d = closed_cells p d).
  Proof.
    intros S Y. induction Y as [n|o a b p l s Y IH T2 I0 I1|o a b p q l r s Yp IHp Yq IHq T2 I0 I1]; simpl in S.
    - repeat split; try reflexivity; apply items_good.
    - destruct S as (Op & Gv & S). destruct (IH S) as (G & L & P).
      assert (M : meaning (Unary o a b p) = (a (relational p) [] (closed_cells p), shut_over o b (relational p) [] (closed_cells p) empty)).
      { unfold relational, closed_cells; simpl; destruct (meaning p); reflexivity. }
      unfold relational at 1, closed_cells at 1; rewrite M; cbn [fst snd starts].
      apply (plan_node o a b (both (starts p) nothing) s (closed_cells p) empty (relational p) []); auto.
      + apply both_fresh; [apply starts_fresh|apply nothing_fresh].
      + intros [|[|n]] N; simpl; [rewrite I0; exact G|rewrite I1; split; exact I|lia].
      + simpl; rewrite I0; exact L.
      + simpl; rewrite I1; constructor.
      + simpl; rewrite I0; exact P.
      + simpl; rewrite I1; reflexivity.
    - destruct S as (Op & Gv & Sp & Sq). destruct (IHp Sp) as (G & L & P). destruct (IHq Sq) as (G' & L' & P').
      assert (M : meaning (Binary o a b p q) = (a (relational p) (relational q) (closed_cells p), shut_over o b (relational p) (relational q) (closed_cells p) (closed_cells q))).
      { unfold relational, closed_cells; simpl; destruct (meaning p), (meaning q); reflexivity. }
      unfold relational at 1, closed_cells at 1; rewrite M; cbn [fst snd starts].
      apply (plan_node o a b (both (starts p) (starts q)) s (closed_cells p) (closed_cells q) (relational p) (relational q)); auto.
      + apply both_fresh; apply starts_fresh.
      + intros [|[|n]] N; simpl; [rewrite I0; exact G|rewrite I1; exact G'|lia].
      + simpl; rewrite I0; exact L.
      + simpl; rewrite I1; exact L'.
      + simpl; rewrite I0; exact P.
      + simpl; rewrite I1; exact P'.
  Qed.

  (** *** Progress of plans: the source cells that feed a cell through all operators *)
  Fixpoint reach (p : plan) (n : nat) (c d : C) : Prop :=
    match p with
    | Source m => n = m /\ c = d
    | Unary o _ _ p => exists b, feeds o 0 b d = true /\ reach p n c b
    | Binary o _ _ p q => exists b, (feeds o 0 b d = true /\ reach p n c b) \/ (feeds o 1 b d = true /\ reach q n c b)
    end.
  (** a cell of a stream, at its end, is live, has an attribute, and is in the units [f] *)
  Definition has_live (e : rd) c x := shut (cl e) c = false /\ pr e c x = true.

  (** [fair l h]: what a rule asks of the feeders and the announced functions of a cell, in
      order to follow its feeders *)
  Variable fair : list (feeder F) -> list F -> Prop.
  Hypothesis follows : forall o st s, operator o -> (forall n, fresh (st n)) -> good_ins st s ->
    let r := reads (out0 o st) (output rule o st s) in
    let l := feeders o (fun n => reads (st n) (input n s)) (past rule o st s) in
    forall d x f, agree F (l d x) f -> fair (l d x) (hs r d x) -> own r d x = f.

  (** an operator at the end of its inputs holds no Drop of [x] in the cell [d]: if state has
      [x] there, a live feeder has it, too; and it is fair *)
  Definition settled x o st s d :=
    let l := feeders o (fun n => reads (st n) (input n s)) (past rule o st s) d x in
    (keep o (past rule o st s) d x = true -> want F l = true) /\
    fair l (hs (reads (out0 o st) (output rule o st s)) d x).
  (** so do all operators of a plan, in the cells that feed [d] *)
  Inductive settles x : plan -> list item -> C -> Prop :=
  | s_source n d : settles x (Source n) (items n) d
  | s_unary o a b p l s d : yields p l -> (forall c, feeds o 0 c d = true -> settles x p l c) ->
      (forall y, In y s -> fst y < 2) -> input 0 s = l -> input 1 s = [] ->
      settled x o (both (starts p) nothing) s d -> settles x (Unary o a b p) (output rule o (both (starts p) nothing) s) d
  | s_binary o a b p q l r s d : yields p l -> yields q r ->
      (forall c, feeds o 0 c d = true -> settles x p l c) -> (forall c, feeds o 1 c d = true -> settles x q r c) ->
      (forall y, In y s -> fst y < 2) -> input 0 s = l -> input 1 s = r ->
      settled x o (both (starts p) (starts q)) s d -> settles x (Binary o a b p q) (output rule o (both (starts p) (starts q)) s) d.

  Lemma hs_nonempty l : forall e, (forall c x, hs e c x <> []) -> forall c x, hs (reads e l) c x <> [].
  Proof.
    induction l as [|i l IH]; intros e H; [exact H|]. simpl. apply IH. intros c x.
    destruct i; simpl; try apply H; destruct (_ && _); try discriminate; apply H.
  Qed.
  Lemma own_hist e l c x : fresh e -> exists h, hs (reads e l) c x = own (reads e l) c x :: h.
  Proof.
    intros Fr. unfold own. destruct (hs (reads e l) c x) as [|f h] eqn:E; [|exists h; reflexivity].
    exfalso; eapply hs_nonempty; [|exact E]. intros c' x'; rewrite (proj1 Fr); discriminate.
  Qed.
  Lemma node_stands o st s x : operator o -> (forall n, fresh (st n)) -> (forall y, In y s -> fst y < 2) ->
    (forall n, n < 2 -> good (st n) (input n s)) -> forall d f, settled x o st s d -> pr (reads (out0 o st) (output rule o st s)) d x = true ->
    (forall n c, n < 2 -> feeds o n c d = true -> has_live (reads (st n) (input n s)) c x -> own (reads (st n) (input n s)) c x = f) ->
    own (reads (out0 o st) (output rule o st s)) d x = f.
  Proof.
    intros Op Fr T2 G d f Se P H. assert (GI : good_ins st s) by (apply good_ins_iff; assumption).
    destruct Se as [Kp Fa]. apply (follows o st s Op Fr GI d x f); [|exact Fa].
    split.
    - rewrite (node_presence rule o Op st s Fr GI) in P. apply orb_true_iff in P as [P|P]; [exact P|exact (Kp P)].
    - intros y I L. apply in_map_iff in I as [[n c] [<- I]]. apply filter_In in I as [I Fd_].
      apply in_prod_iff in I as [I _]. unfold lp, feeder1 in L; simpl in L. apply andb_true_iff in L as [L1 L2]. apply andb_true_iff in L1 as [L1 _].
      apply negb_true_iff in L1. unfold feeder1; cbn [D1.hist fst snd].
      destruct (own_hist (st n) (input n s) c x (Fr n)) as [h E]. exists h. rewrite E. f_equal.
      apply H; [destruct I as [<-|[<-|[]]]; lia|exact Fd_|split; assumption].
  Qed.
  (** every live cell that has an attribute stands in the units of the source cells that feed
      it, if those that are live and have it share them *)
  Theorem plan_stands x p out d : sound p -> settles x p out d ->
    forall f, has_live (reads (starts p) out) d x ->
    (forall n c, reach p n c d -> has_live (reads (begins n) (items n)) c x -> own (reads (begins n) (items n)) c x = f) ->
    own (reads (starts p) out) d x = f.
  Proof.
    intros S Y. induction Y as [n d|o a b p l s d Y _ IH T2 I0 I1 Se|o a b p q l r s d Yp Yq _ IHp _ IHq T2 I0 I1 Se]; simpl in S; intros f L H.
    - apply H; [simpl; auto|exact L].
    - destruct S as (Op & Gv & S). destruct L as [_ P].
      pose proof (plan_correct p l S Y) as [G _].
      apply (node_stands o (both (starts p) nothing) s x Op); auto.
      + apply both_fresh; [apply starts_fresh|apply nothing_fresh].
      + intros [|[|n]] N; simpl; [rewrite I0; exact G|rewrite I1; split; exact I|lia].
      + intros [|[|n]] c N Fd_ HL; simpl in *; [|rewrite I1 in HL; destruct HL as [_ HL]; discriminate|lia].
        rewrite I0 in *. apply (IH c Fd_ S); [exact HL|]. intros m e R; apply H. exists c; auto.
    - destruct S as (Op & Gv & Sp & Sq). destruct L as [_ P].
      pose proof (plan_correct p l Sp Yp) as [G _].
      pose proof (plan_correct q r Sq Yq) as [G' _].
      apply (node_stands o (both (starts p) (starts q)) s x Op); auto.
      + apply both_fresh; apply starts_fresh.
      + intros [|[|n]] N; simpl; [rewrite I0; exact G|rewrite I1; exact G'|lia].
      + intros [|[|n]] c N Fd_ HL; simpl in *; [| |lia].
        * rewrite I0 in *. apply (IHp c Fd_ Sp); [exact HL|]. intros m e R; apply H. exists c; auto.
        * rewrite I1 in *. apply (IHq c Fd_ Sq); [exact HL|]. intros m e R; apply H. exists c; auto.
  Qed.
End Plan.

(** *** The two rules *)
Section Rules.
  Context {W : World}.
  Variables (begins : nat -> rd) (items : nat -> list item).
  Hypothesis begins_fresh : forall n, fresh (begins n).
  Hypothesis items_good : forall n, good (begins n) (items n).
  Definition any (l : list (feeder F)) (h : list F) := True.
  (** D2 excuses a cell that has announced the function of its feeders since its Add, has left
      it, and whose own function is not common to the feeders *)
  Definition new_or_common (l : list (feeder F)) (h : list F) :=
    forall f, agree F l f -> In f h -> In (hd one h) (common F F_dec l).

  (** D1's rule, the latest common function: every live cell of every plan whose source cells
      agree stands in their units, if no Drop is held on the way *)
  Theorem plan_progress x p out d : sound p -> settles (latest F) begins items any x p out d ->
    forall f, has_live (reads (starts begins p) out) d x ->
    (forall n c, reach p n c d -> has_live (reads (begins n) (items n)) c x -> own (reads (begins n) (items n)) c x = f) ->
    own (reads (starts begins p) out) d x = f.
  Proof.
    apply plan_stands; [exact begins_fresh|exact items_good|].
    intros o st s Op Fr G r l d' y f Ag _. apply (node_progress o Op st s Fr G d' y f Ag).
  Qed.
  (** D2's rule: so it does, if no cell on the way is excused *)
  Theorem plan_progress_d2 x p out d : sound p -> settles (next F F_dec) begins items new_or_common x p out d ->
    forall f, has_live (reads (starts begins p) out) d x ->
    (forall n c, reach p n c d -> has_live (reads (begins n) (items n)) c x -> own (reads (begins n) (items n)) c x = f) ->
    own (reads (starts begins p) out) d x = f.
  Proof.
    apply plan_stands; [exact begins_fresh|exact items_good|].
    intros o st s Op Fr G r l d' y f Ag Fa.
    destruct (node_progress_d2 o Op st s Fr G d' y f Ag) as [_ [E|[I N]]]; [exact E|].
    exfalso; apply N. apply (Fa f Ag I).
  Qed.
End Rules.
