(** One operator over two inputs, with all cells and attributes together: Data's canonical
    data plane (D0) under D1's control plane, cell by cell.  The operator is its steps, its
    feeders and what its state keeps; [operator] says what these have to do with each other.
    No axioms. *)
From Coq Require Import List Bool Arith Lia.
From Cedilla Require Import Events Ops D1 Streams.
Import ListNotations.

Section Node.
  Context {W : World}.
  Notation hist := (list (nat * event T R)).

  Record op := Op {
    step : hist -> nat * event T R -> list T;    (* results that an event releases *)
    feeds : nat -> C -> C -> bool;              (* input, its cell, output cell *)
    keep : hist -> C -> A -> bool;              (* stored tuples still have the attribute *)
    busy : hist -> C -> bool }.                 (* a result can come, as far as stored tuples say *)
  (** a feeder of an output cell is open: not all of its tuples are closed *)
  Definition fed (o : op) (h : hist) (d : C) :=
    exists i c, i < 2 /\ feeds o i c d = true /\ shut (regs i h) c = false.
  (** the feeders are right: a result comes only while one is open, and not where the operator
      says that none can come any more, which stays so; it has an attribute only
      if the new tuple of a feeder, or state, has it; state has it from tuples of feeders *)
  Record operator (o : op) : Prop := {
    op_fed : forall h e t, gram holds (h ++ [e]) -> binary (h ++ [e]) -> In t (step o h e) -> fed o h (cell t) /\ busy o h (cell t) = true;
    op_has : forall h e t x, gram holds (h ++ [e]) -> binary (h ++ [e]) -> In t (step o h e) -> has t x = true ->
      (exists i u, e = (i, ET u) /\ has u x = true /\ feeds o i (cell u) (cell t) = true) \/ keep o h (cell t) x = true;
    op_keep : forall h e d x, gram holds (h ++ [e]) -> binary (h ++ [e]) -> keep o (h ++ [e]) d x = true ->
      (exists i u, e = (i, ET u) /\ has u x = true /\ feeds o i (cell u) d = true) \/ keep o h d x = true;
    op_new : forall d x, keep o [] d x = false;
    op_kept : forall h d x, keep o h d x = true -> busy o h d = true;
    op_busy : forall h e d, gram holds (h ++ [e]) -> binary (h ++ [e]) -> busy o (h ++ [e]) d = true -> busy o h d = true }.

  Variable rule : list F -> list F -> F -> F.
  Variable O : op.
  Hypothesis O_ok : operator O.

  Definition ins := nat -> rd.
  Definition sources (d : C) : list (nat * C) := filter (fun p => feeds O (fst p) (snd p) d) (list_prod [0; 1] cells).
  Definition feeder1 (st : ins) (b : bool) x (p : nat * C) :=
    Fd F (negb (shut (cl (st (fst p))) (snd p)) && b) (pr (st (fst p)) (snd p) x) (hs (st (fst p)) (snd p) x).
  Definition feeders (st : ins) (h : hist) d x := map (feeder1 st (busy O h d) x) (sources d).
  Definition awake (st : ins) (h : hist) (d : C) := existsb (fun p => negb (shut (cl (st (fst p))) (snd p)) && busy O h d) (sources d).

  Notation dst := (D1.st F).
  Definition ctl := C -> A -> dst.
  Definition ev_of (st : ins) (n : nat) (i : item) : hist := map (fun e => (n, e)) (event1 (st n) i).
  Definition now (st : ins) n i : ins := fun j => if Nat.eqb n j then read (st n) i else st j.
  Definition released (h : hist) (es : hist) : list T := Events.steps (step O) h es.
  Definition cell_ev (st' : ins) (h' : hist) (ts : list T) d x : D1.ev F :=
    D1.Ev F (feeders st' h' d x) (map (fun t => has t x) (filter (fun t => isc d (cell t)) ts)) (keep O h' d x).
  Definition ctl' (m : ctl) st' h' ts : ctl := fun d x => D1.step F F_dec one rule (m d x) (cell_ev st' h' ts d x).

  (** what is announced at an item, in the order of theory 3.3 *)
  Definition add_at (m : ctl) (st' : ins) (h' : hist) (k : key) := D1.adds F (m (fst k) (snd k)) (feeders st' h' (fst k) (snd k)).
  Definition o1_at (m : ctl) (st' : ins) (h' : hist) d x := D1.o1 F one (m d x) (feeders st' h' d x).
  Definition o2_at (m : ctl) (st' : ins) (h' : hist) d x := D1.o2 F F_dec one rule (m d x) (feeders st' h' d x).
  Definition alter_at (m : ctl) (st' : ins) (h' : hist) (k : key) := D1.alters F F_dec one rule (m (fst k) (snd k)) (feeders st' h' (fst k) (snd k)).
  Definition drop_at (m : ctl) (st' : ins) (h' : hist) (k : key) :=
    D1.drops F (m (fst k) (snd k)) (feeders st' h' (fst k) (snd k)) (keep O h' (fst k) (snd k)).
  Definition shut_at (st st' : ins) (h h' : hist) : list C := filter (fun d => awake st h d && negb (awake st' h' d)) cells.
  Definition change (m : ctl) st' h' (k : key) := mul (o2_at m st' h' (fst k) (snd k)) (Streams.inv (o1_at m st' h' (fst k) (snd k))).
  Definition emit (m : ctl) (st st' : ins) (h h' : hist) (ts : list T) : list item :=
    phase add_ (add_at m st' h') keys
      ++ map (fun t => Tu (chg (o1_at m st' h' (cell t)) t)) ts
      ++ shuts (shut_at st st' h h')
      ++ phase (alter_ (change m st' h')) (alter_at m st' h') keys
      ++ phase drop_ (drop_at m st' h') keys.
  Fixpoint run (st : ins) (h : hist) (m : ctl) (s : list (nat * item)) : list item :=
    match s with
    | [] => []
    | (n, i) :: s =>
        let st' := now st n i in let es := ev_of st n i in let h' := h ++ es in
        let ts := released h es in
        emit m st st' h h' ts ++ run st' h' (ctl' m st' h' ts) s
    end.

  (** the state of the operator at the end of the inputs *)
  Fixpoint ends (st : ins) (h : hist) (m : ctl) (s : list (nat * item)) : ins * hist * ctl :=
    match s with
    | [] => (st, h, m)
    | (n, i) :: s =>
        let st' := now st n i in let es := ev_of st n i in let h' := h ++ es in
        ends st' h' (ctl' m st' h' (released h es)) s
    end.

  (** valid and grammatical inputs, in any interleaving *)
  Fixpoint good_ins (st : ins) (s : list (nat * item)) : Prop :=
    match s with
    | [] => True
    | (n, i) :: s => n < 2 /\ valid_item (st n) i /\ open_item (st n) i /\ good_ins (now st n i) s
    end.

  (** *** the invariant: inputs, history, control and the reader of the output agree *)
  Record agrees (st : ins) (h : hist) (m : ctl) (r : rd) : Prop := {
    ag_cl : forall n, cl (st n) = regs n h;
    ag_gram : gram holds h; ag_bin : binary h;
    ag_fs : forall d x, fs F (m d x) = feeders st h d x;
    ag_inv : forall d x, D1.inv F (m d x);
    ag_kept : forall d x, kept F (m d x) = keep O h d x;
    ag_said : forall d x, said F (m d x) = hs r d x;
    ag_own : forall d x, o F (m d x) = own r d x;
    ag_pres : forall d x, opres F (m d x) = pr r d x;
    ag_shut : forall d, awake st h d = false -> exists p, In p (cl r) /\ forall t, holds p t = isc d (cell t);
    ag_true : forall p, In p (cl r) -> exists d, awake st h d = false /\ forall t, holds p t = isc d (cell t) }.

  Lemma alive_awake st h d x : alive F (feeders st h d x) = awake st h d.
  Proof. unfold alive, feeders, awake. induction (sources d) as [|p l IH]; simpl; [reflexivity|rewrite IH; reflexivity]. Qed.
  Lemma in_sources n c d : n < 2 -> feeds O n c d = true -> In (n, c) (sources d).
  Proof.
    intros N H; apply filter_In; split; [|exact H]. apply in_prod; [|apply cells_all].
    destruct n as [|[|]]; [left|right; left|lia]; reflexivity.
  Qed.

  Lemma regs_ev n (h es : hist) : regs n (h ++ es) = regs n h ++ regs n es.
  Proof. unfold regs; apply flat_map_app. Qed.
  Lemma cl_now st (h : hist) n i : (forall j, cl (st j) = regs j h) -> forall j, cl (now st n i j) = regs j (h ++ ev_of st n i).
  Proof.
    intros H j; rewrite regs_ev, <- H. unfold now. destruct (Nat.eqb_spec n j) as [<-|N].
    - destruct i; simpl; rewrite ?Nat.eqb_refl, ?app_nil_r; reflexivity.
    - unfold ev_of. destruct i; simpl; rewrite ?app_nil_r; try reflexivity.
      assert (M : Nat.eqb j n = false) by (apply Nat.eqb_neq; congruence). rewrite M; simpl; rewrite app_nil_r; reflexivity.
  Qed.
  Lemma ev_shape st n i : ev_of st n i = [] \/ exists e, ev_of st n i = [(n, e)].
  Proof. unfold ev_of; destruct i; simpl; eauto. Qed.
  Lemma busy_now st (h : hist) n i d : gram holds (h ++ ev_of st n i) -> binary (h ++ ev_of st n i) ->
    busy O (h ++ ev_of st n i) d = true -> busy O h d = true.
  Proof.
    destruct (ev_shape st n i) as [E|[e E]]; rewrite E; [rewrite app_nil_r; auto|]. apply (op_busy _ O_ok).
  Qed.
  Lemma awake_now st h n i d : gram holds (h ++ ev_of st n i) -> binary (h ++ ev_of st n i) ->
    awake (now st n i) (h ++ ev_of st n i) d = true -> awake st h d = true.
  Proof.
    intros G B. unfold awake; rewrite !existsb_exists; intros [[j c] [I S]]; exists (j, c); split; [exact I|].
    apply andb_true_iff in S as [S K]. apply andb_true_iff; split; [|eapply busy_now; eassumption].
    simpl in *. apply negb_true_iff in S; apply negb_true_iff. unfold now in S.
    destruct (Nat.eqb_spec n j) as [<-|N]; [|exact S]. destruct i; simpl in S; try exact S.
    destruct (shut (cl (st n)) c) eqn:E; [|reflexivity]. rewrite shut_mono in S by exact E; discriminate.
  Qed.
  Lemma gram_snoc (h : hist) n e : gram holds h -> (forall t, e = ET t -> forall r, In r (regs n h) -> holds r t = false) -> gram holds (h ++ [(n, e)]).
  Proof.
    intros G H a j t b E r I.
    destruct b as [|y b] using rev_ind.
    - apply app_inj_tail in E as [-> E]. injection E as -> ->. eapply H; eauto.
    - clear IHb. change (a ++ (j, ET t) :: b ++ [y]) with (a ++ ((j, ET t) :: b) ++ [y]) in E.
      rewrite app_assoc in E. apply app_inj_tail in E as [E _]. apply (G a j t b E r I).
  Qed.
  Lemma gram_now st (h : hist) n i : (forall j, cl (st j) = regs j h) -> gram holds h -> open_item (st n) i -> gram holds (h ++ ev_of st n i).
  Proof.
    intros CL G OP. unfold ev_of. destruct i; simpl; rewrite ?app_nil_r; try exact G; apply gram_snoc; try exact G.
    - intros u E r I. injection E as <-. rewrite <- CL in I. apply OP, I.
    - intros u E; discriminate.
  Qed.
  Lemma bin_now st (h : hist) n i : binary h -> n < 2 -> binary (h ++ ev_of st n i).
  Proof.
    intros B N j x I. apply in_app_or in I as [I|I]; [apply (B _ _ I)|].
    destruct (ev_shape st n i) as [E|[e E]]; rewrite E in I; simpl in I; [contradiction|].
    destruct I as [I|[]]. injection I as <- _; exact N.
  Qed.

  (** a tuple of a valid input comes from a live feeder that is present *)
  Lemma tuple_wanted st (h : hist) n i u x d : (forall j, cl (st j) = regs j h) -> n < 2 ->
    valid_item (st n) i -> open_item (st n) i -> In (n, ET u) (ev_of st n i) -> has u x = true ->
    feeds O n (cell u) d = true -> forall k : hist, busy O k d = true -> want F (feeders st k d x) = true.
  Proof.
    intros CL N V OP I H Fd_ k0 Bk. unfold ev_of in I. destruct i as [t|p|y e|y e|y e g]; simpl in I; try contradiction; destruct I as [I|[]]; try discriminate.
    injection I as <-.
    unfold want; apply existsb_exists. exists (feeder1 st (busy O k0 d) x (n, cell (dec (st n) t))). split.
    - unfold feeders; apply in_map, in_sources; assumption.
    - unfold lp, feeder1; simpl. unfold dec in *. rewrite has_chg in H. rewrite !cell_chg in *. rewrite (V x H), Bk, !andb_true_r.
      apply negb_true_iff. destruct (shut (cl (st n)) (cell t)) eqn:S; [|reflexivity].
      destruct (shut_sound _ _ S (dec (st n) t)) as [r [R E]]; [unfold dec; apply cell_chg|].
      simpl in OP. rewrite (OP r R) in E; discriminate.
  Qed.
  Lemma same_ins st n i u : In (n, ET u) (ev_of st n i) -> forall j, now st n i j = st j.
  Proof.
    unfold ev_of, now; destruct i; simpl; intros I; try contradiction; destruct I as [I|[]]; try discriminate.
    intros j; destruct (Nat.eqb_spec n j) as [<-|]; reflexivity.
  Qed.
  Lemma feeders_same st st' h d x : (forall j, st' j = st j) -> feeders st' h d x = feeders st h d x.
  Proof. intros H; unfold feeders; apply map_ext; intros [j c]; unfold feeder1; simpl; rewrite H; reflexivity. Qed.

  (** every cell sees a valid item *)
  Lemma cell_valid st h m r n i d x : agrees st h m r -> n < 2 -> valid_item (st n) i -> open_item (st n) i ->
    D1.valid F (m d x) (cell_ev (now st n i) (h ++ ev_of st n i) (released h (ev_of st n i)) d x).
  Proof.
    intros Ag N V OP. pose proof (ag_cl _ _ _ _ Ag) as CL.
    pose proof (bin_now st h n i (ag_bin _ _ _ _ Ag) N) as B'.
    pose proof (gram_now st h n i CL (ag_gram _ _ _ _ Ag) OP) as G'.
    unfold D1.valid, cell_ev; cbn [new res k]. rewrite (ag_fs _ _ _ _ Ag), (ag_kept _ _ _ _ Ag), !alive_awake.
    split; [apply awake_now; assumption|split].
    - intros K. pose proof K as K0. destruct (ev_shape st n i) as [E|[e E]].
      + rewrite E, app_nil_r in K; left; exact K.
      + rewrite E in *. apply (op_keep _ O_ok) in K as [(j & u & E1 & H & Fd_)|K]; [right|left; exact K|exact G'|exact B'].
        injection E1 as <- ->. rewrite <- E in *.
        assert (I : In (n, ET u) (ev_of st n i)) by (rewrite E; left; reflexivity).
        rewrite (feeders_same st) by (eapply same_ins; exact I).
        apply (tuple_wanted st h n i u x d CL N V OP I H Fd_). eapply (op_kept _ O_ok); exact K0.
    - intros b I. apply in_map_iff in I as [t [<- I]]. apply filter_In in I as [I D]. apply isc_eq in D; subst d.
      unfold released in I. destruct (ev_shape st n i) as [E|[e E]]; rewrite E in *; simpl in I; [contradiction|].
      rewrite app_nil_r in I. destruct (op_fed _ O_ok h (n, e) t G' B' I) as [(j & c & J & Fd_ & S) Bz]. split.
      +
        unfold awake; apply existsb_exists; exists (j, c); split; [apply in_sources; assumption|].
        simpl; rewrite CL, S, Bz; reflexivity.
      + intros H. destruct (op_has _ O_ok h (n, e) t x G' B' I H) as [(j' & u & E1 & H1 & Fd')|K]; [left|right; exact K].
        injection E1 as <- ->.
        assert (I1 : In (n, ET u) (ev_of st n i)) by (rewrite E; left; reflexivity).
        apply (tuple_wanted st h n i u x (cell t) CL N V OP I1 H1 Fd'). exact Bz.
  Qed.

  Lemma said_step s e : hd one (said F (D1.step F F_dec one rule s e)) = o F (D1.step F F_dec one rule s e) \/ hd one (said F s) <> o F s.
  Proof.
    destruct (F_dec (hd one (said F s)) (o F s)) as [E|E]; [left|right; exact E].
    unfold D1.step; simpl. destruct (altered_or_same F F_dec one rule s (new F e)) as [[-> _]|[-> N]]; [reflexivity|].
    rewrite <- N. unfold D1.o1, D1.said1. destruct (adds F s (new F e)); [reflexivity|exact E].
  Qed.

  (** one item: what comes out is valid and grammatical, decodes to the results, and the
      reader of the output knows what control knows *)
  Lemma item_ok st h m r n i : agrees st h m r -> n < 2 -> valid_item (st n) i -> open_item (st n) i ->
    let st' := now st n i in let es := ev_of st n i in let ts := released h es in
    let out := emit m st st' h (h ++ es) ts in
    good r out /\ content r out = ts /\ agrees st' (h ++ es) (ctl' m st' (h ++ es) ts) (reads r out).
  Proof.
    intros Ag N V OP st' es ts out.
    assert (CV := fun d x => cell_valid st h m r n i d x Ag N V OP). fold st' es ts in CV.
    assert (SO := fun d x => step_ok F F_dec one rule (m d x) _ (ag_inv _ _ _ _ Ag d x) (CV d x)).
    assert (RO := fun d x b => result_open F (m d x) _ b (ag_inv _ _ _ _ Ag d x) (CV d x)).
    assert (AW : forall d, awake st' (h ++ es) d = true -> awake st h d = true) by (intros; eapply awake_now; [| |eassumption]; [apply gram_now; [apply (ag_cl _ _ _ _ Ag)|apply (ag_gram _ _ _ _ Ag)|exact OP]|apply bin_now; [apply (ag_bin _ _ _ _ Ag)|exact N]]).
    assert (OC : forall d x, oclosed F (m d x) = negb (awake st h d)).
    { intros d x. destruct (ag_inv _ _ _ _ Ag d x) as (_ & _ & _ & E). rewrite E, (ag_fs _ _ _ _ Ag), alive_awake; reflexivity. }
    (* Adds *)
    pose proof (adds_phase (add_at m st' (h ++ es)) r) as PA. cbv zeta in PA.
    set (r1 := reads r (phase add_ (add_at m st' (h ++ es)) keys)) in *. destruct PA as (A1 & A2 & A3 & A4 & A5).
    assert (OWN1 : forall d x, own r1 d x = o1_at m st' (h ++ es) d x).
    { intros d x; unfold own; rewrite A3. unfold add_at, o1_at, D1.o1; simpl.
      destruct (adds F (m d x) (feeders st' (h ++ es) d x)); [reflexivity|]. symmetry; apply (ag_own _ _ _ _ Ag). }
    assert (PR1 : forall d x, pr r1 d x = D1.present F (m d x) (feeders st' (h ++ es) d x)).
    { intros d x; rewrite A2, <- (ag_pres _ _ _ _ Ag); reflexivity. }
    assert (HS1 : forall d x, hs r1 d x = D1.said1 F one (m d x) (feeders st' (h ++ es) d x)).
    { intros d x; rewrite A3, <- (ag_said _ _ _ _ Ag); reflexivity. }
    assert (G1 : good r (phase add_ (add_at m st' (h ++ es)) keys)).
    { apply A4; intros d x E. rewrite <- (ag_pres _ _ _ _ Ag). unfold add_at, adds in E; simpl in E.
      apply andb_true_iff in E as [_ E]; apply negb_true_iff in E; exact E. }
    (* tuples *)
    assert (ENC : map (fun t => Tu (chg (o1_at m st' (h ++ es) (cell t)) t)) ts = map (fun t => Tu (enc r1 t)) ts).
    { apply map_ext; intros t; unfold enc; f_equal; apply chg_ext; intro x; symmetry; apply OWN1. }
    destruct (tuples_phase r1 ts) as (T1 & T2 & T3).
    assert (TA : forall t, In t ts -> awake st h (cell t) = true).
    { intros t I. subst ts es; unfold released in I. pose proof (ag_cl _ _ _ _ Ag) as CL.
      pose proof (bin_now st h n i (ag_bin _ _ _ _ Ag) N) as B'.
      pose proof (gram_now st h n i CL (ag_gram _ _ _ _ Ag) OP) as G'.
      destruct (ev_shape st n i) as [E|[e E]]; rewrite E in *; simpl in I; [contradiction|]. rewrite app_nil_r in I.
      destruct (op_fed _ O_ok h (n, e) t G' B' I) as [(j & c & J & Fd_ & S) Bz].
      unfold awake; apply existsb_exists; exists (j, c); split; [apply in_sources; assumption|]. simpl; rewrite CL, S, Bz; reflexivity. }
    assert (G2 : good r1 (map (fun t => Tu (enc r1 t)) ts)).
    { apply T2; intros t I; split.
      - intros x X. rewrite PR1. unfold present. assert (J : In true (res F (cell_ev st' (h ++ es) ts (cell t) x))).
        { unfold cell_ev; cbn [res]. apply in_map_iff; exists t; split; [exact X|]. apply filter_In; split; [exact I|apply isc_refl]. }
        rewrite (proj2 (RO (cell t) x true J) eq_refl); reflexivity.
      - intros p P. rewrite A1 in P. destruct (ag_true _ _ _ _ Ag p P) as (d & D & E). rewrite E.
        unfold isc. destruct (C_dec d (cell t)) as [->|]; [|reflexivity]. rewrite (TA t I) in D; discriminate. }
    (* punctuations *)
    destruct (shuts_phase (shut_at st st' h (h ++ es)) r1) as (S1 & S2 & S3 & S3' & S4 & G3 & S5).
    set (r2 := reads r1 (shuts (shut_at st st' h (h ++ es)))) in *.
    (* Alters *)
    pose proof (alters_phase (change m st' (h ++ es)) (alter_at m st' (h ++ es)) r2) as PL. cbv zeta in PL.
    set (r3 := reads r2 (phase (alter_ (change m st' (h ++ es))) (alter_at m st' (h ++ es)) keys)) in *. destruct PL as (L1 & L2 & L3 & L4 & L5).
    assert (G4 : good r2 (phase (alter_ (change m st' (h ++ es))) (alter_at m st' (h ++ es)) keys)).
    { apply L4; intros d x E. rewrite S1, PR1. unfold alter_at, alters, D1.o2 in E; simpl in E.
      destruct (present F (m d x) (feeders st' (h ++ es) d x)); [reflexivity|]. destruct (F_dec _ _); congruence. }
    assert (HS3 : forall d x, hs r3 d x = if alter_at m st' (h ++ es) (d, x) then o2_at m st' (h ++ es) d x :: hs r1 d x else hs r1 d x).
    { intros d x; rewrite L3, S2. destruct (alter_at m st' (h ++ es) (d, x)); [|reflexivity]. f_equal.
      unfold own; rewrite S2. change (hd one (hs r1 d x)) with (own r1 d x). rewrite OWN1. unfold change; simpl.
      rewrite <- mul_assoc, inv_mul, mul_one; reflexivity. }
    (* Drops *)
    pose proof (drops_phase (drop_at m st' (h ++ es)) r3) as PD. cbv zeta in PD.
    set (r4 := reads r3 (phase drop_ (drop_at m st' (h ++ es)) keys)) in *. destruct PD as (D1_ & D2_ & D3_ & D4_ & D5_).
    assert (G5 : good r3 (phase drop_ (drop_at m st' (h ++ es)) keys)).
    { apply D4_; intros d x E. rewrite L2, S1, PR1. unfold drop_at, drops in E; simpl in E.
      destruct (present F (m d x) (feeders st' (h ++ es) d x)); [reflexivity|discriminate]. }
    assert (R4 : reads r out = r4).
    { unfold out, emit. rewrite !reads_app. fold r1. rewrite ENC, T1. reflexivity. }
    split; [|split].
    - unfold out, emit. apply good_app; [exact G1|]. fold r1. rewrite ENC.
      apply good_app; [exact G2|]. rewrite T1. apply good_app; [exact G3|]. apply good_app; [exact G4|exact G5].
    - unfold out, emit. rewrite !content_app. fold r1. rewrite ENC, T1, A5, T3, S5. fold r2. rewrite L5. fold r3. rewrite D5_.
      simpl; rewrite ?app_nil_r; reflexivity.
    - rewrite R4. assert (CL4 : cl r4 = cl r2) by (rewrite D1_, L1; reflexivity).
      assert (SD : forall d x, said F (ctl' m st' (h ++ es) ts d x) = hs r4 d x).
      { intros d x. rewrite D3_, HS3. unfold ctl', D1.step, alter_at; cbn [said new cell_ev fst snd]. rewrite HS1. reflexivity. }
      constructor.
      + apply cl_now, (ag_cl _ _ _ _ Ag).
      + apply gram_now; [apply (ag_cl _ _ _ _ Ag)|apply (ag_gram _ _ _ _ Ag)|exact OP].
      + apply bin_now; [apply (ag_bin _ _ _ _ Ag)|exact N].
      + reflexivity.
      + intros d x; apply (proj2 (proj2 (SO d x))).
      + reflexivity.
      + exact SD.
      + intros d x. unfold own; rewrite <- SD. unfold ctl'.
        destruct (said_step (m d x) (cell_ev st' (h ++ es) ts d x)) as [E|E]; [symmetry; exact E|].
        exfalso; apply E. rewrite (ag_said _ _ _ _ Ag), (ag_own _ _ _ _ Ag); reflexivity.
      + intros d x. rewrite D2_, L2, S1, PR1. reflexivity.
      + intros d D. rewrite CL4. destruct (awake st h d) eqn:AD.
        * apply S4. unfold shut_at; apply filter_In; split; [apply cells_all|rewrite AD, D; reflexivity].
        * destruct (ag_shut _ _ _ _ Ag d AD) as (p & P & E). exists p; split; [|exact E]. apply S3'. rewrite A1; exact P.
      + intros p P. rewrite CL4 in P. apply S3 in P as [P|(d & D & E)].
        * rewrite A1 in P. destruct (ag_true _ _ _ _ Ag p P) as (d & D & E). exists d; split; [|exact E].
          destruct (awake st' (h ++ es) d) eqn:X; [|reflexivity]. rewrite (AW d X) in D; discriminate.
        * exists d; split; [|exact E]. apply filter_In in D as [_ D]. apply andb_true_iff in D as [_ D].
          apply negb_true_iff in D; exact D.
  Qed.

  Theorem run_ok : forall s st h m r, agrees st h m r -> good_ins st s ->
    good r (run st h m s) /\
    (let '(st', h', m') := ends st h m s in
     agrees st' h' m' (reads r (run st h m s)) /\
     exists es, h' = h ++ es /\ content r (run st h m s) = Events.steps (step O) h es).
  Proof.
    induction s as [|[n i] s IH]; intros st h m r Ag G; simpl.
    { split; [split; simpl; auto|]. split; [exact Ag|exists []; rewrite app_nil_r; auto]. }
    destruct G as (N & V & OP & G). destruct (item_ok st h m r n i Ag N V OP) as (K1 & K2 & K3); simpl in *.
    specialize (IH _ _ _ _ K3 G). destruct IH as [I1 I2]. split; [apply good_app; assumption|].
    destruct (ends (now st n i) _ _ s) as [[st' h'] m'] eqn:E. destruct I2 as (I2 & es & -> & I3).
    split; [rewrite reads_app; exact I2|]. exists (ev_of st n i ++ es). split; [rewrite app_assoc; reflexivity|].
    rewrite content_app, K2, I3. unfold released.
    rewrite steps_append; reflexivity.
  Qed.

  (** *** from the start of a query: nothing is altered or closed yet; cells without a
      feeder are closed at once *)
  Definition fresh (s : rd) := (forall c x, hs s c x = [one]) /\ cl s = [].
  Definition ctl0 (st : ins) : ctl := fun d x => D1.start F one (feeders st [] d x).
  Definition out0 (st : ins) : rd := Rd (fun d x => want F (feeders st [] d x)) (fun _ _ => [one]) [].
  Definition output (st : ins) (s : list (nat * item)) : list item :=
    shuts (filter (fun d => negb (awake st [] d)) cells) ++ run st [] (ctl0 st) s.
  Lemma start_agrees st : (forall n, fresh (st n)) ->
    agrees st [] (ctl0 st) (reads (out0 st) (shuts (filter (fun d => negb (awake st [] d)) cells))).
  Proof.
    intros Fr. destruct (shuts_phase (filter (fun d => negb (awake st [] d)) cells) (out0 st)) as (S1 & S2 & S3 & _ & S4 & _ & _).
    constructor; try reflexivity.
    - intros n; rewrite (proj2 (Fr n)); reflexivity.
    - intros a j t b E; destruct a; discriminate.
    - intros j x I; contradiction.
    - intros d x; apply start_inv.
    - intros d x; symmetry; apply (op_new _ O_ok).
    - intros d x; rewrite S2; reflexivity.
    - intros d x; unfold own; rewrite S2; reflexivity.
    - intros d x; rewrite S1; reflexivity.
    - intros d D; apply S4, filter_In; split; [apply cells_all|rewrite D; reflexivity].
    - intros p P; apply S3 in P as [P|(d & D & E)]; [contradiction|]. exists d; split; [|exact E].
      apply filter_In in D as [_ D]; apply negb_true_iff in D; exact D.
  Qed.

  Definition final (st : ins) s := ends st [] (ctl0 st) s.
  (** every interleaving of valid, grammatical inputs gives a valid, grammatical output; it
      decodes to what the steps give on the canonical inputs; a reader of it knows of every
      cell and attribute what the control plane knows *)
  Theorem node_ok st s : (forall n, fresh (st n)) -> good_ins st s ->
    good (out0 st) (output st s) /\
    (let '(st', h', m') := final st s in
     content (out0 st) (output st s) = Events.steps (step O) [] h' /\
     agrees st' h' m' (reads (out0 st) (output st s))).
  Proof.
    intros Fr G. destruct (run_ok s _ _ _ _ (start_agrees st Fr) G) as [K1 K2]. unfold output, final.
    destruct (shuts_phase (filter (fun d => negb (awake st [] d)) cells) (out0 st)) as (_ & _ & _ & _ & _ & S6 & S7).
    split; [apply good_app; assumption|].
    destruct (ends st [] (ctl0 st) s) as [[st' h'] m']. destruct K2 as (K2 & es & E & K3).
    rewrite content_app, reads_app, S7, K3. subst h'; simpl. split; [reflexivity|exact K2].
  Qed.

  (** what the inputs are at the end, one by one *)
  Definition input (n : nat) (s : list (nat * item)) : list item :=
    flat_map (fun p => if Nat.eqb n (fst p) then [snd p] else []) s.
  Lemma ends_ins s : forall st h m, let '(st', h', m') := ends st h m s in
    (forall n, st' n = reads (st n) (input n s)) /\ (forall n, inp n h' = inp n h ++ content (st n) (input n s)).
  Proof.
    induction s as [|[j i] s IH]; intros st h m; simpl.
    { split; [reflexivity|]. intros n; unfold content; simpl; rewrite app_nil_r; reflexivity. }
    specialize (IH (now st j i) (h ++ ev_of st j i) (ctl' m (now st j i) (h ++ ev_of st j i) (released h (ev_of st j i)))).
    destruct (ends _ _ _ s) as [[st' h'] m']. destruct IH as [I1 I2]. split; intros n.
    - rewrite I1; unfold now. rewrite (Nat.eqb_sym n j). destruct (Nat.eqb_spec j n) as [->|]; reflexivity.
    - rewrite I2. unfold inp at 1; rewrite flat_map_app, <- app_assoc. fold (inp n h). f_equal.
      unfold now. rewrite (Nat.eqb_sym n j). destruct (Nat.eqb_spec j n) as [->|N]; simpl.
      + unfold content; simpl; rewrite tup_app. f_equal. unfold ev_of; destruct i; simpl; rewrite ?Nat.eqb_refl; reflexivity.
      + replace (flat_map (inp1 n) (ev_of st j i)) with (@nil T); [reflexivity|].
        unfold ev_of; destruct i; simpl; try reflexivity.
        replace (Nat.eqb n j) with false; [reflexivity|symmetry; apply Nat.eqb_neq; congruence].
  Qed.
  Lemma good_ins_iff s : forall st, (forall p, In p s -> fst p < 2) ->
    (forall n, n < 2 -> good (st n) (input n s)) -> good_ins st s.
  Proof.
    induction s as [|[j i] s IH]; intros st T2 G; simpl; [exact I|].
    assert (J : j < 2) by (apply (T2 (j, i)); left; reflexivity).
    pose proof (G j J) as GJ; simpl in GJ; rewrite Nat.eqb_refl in GJ; simpl in GJ.
    destruct GJ as [[V V'] [OP OP']]. repeat split; auto.
    apply IH; [intros p P; apply T2; right; exact P|].
    intros n N; unfold now. destruct (Nat.eqb_spec j n) as [->|E]; [split; assumption|].
    specialize (G n N); simpl in G. replace (Nat.eqb n j) with false in G by (symmetry; apply Nat.eqb_neq; congruence). exact G.
  Qed.
  (** what every step of a cell leaves true is true at the end *)
  Lemma ends_cell (Q : list (feeder F) -> dst -> Prop) d x s : forall st h m,
    (forall a l ts kp, Q l (D1.step F F_dec one rule a (D1.Ev F l ts kp))) -> Q (feeders st h d x) (m d x) ->
    let '(st', h', m') := ends st h m s in Q (feeders st' h' d x) (m' d x).
  Proof.
    induction s as [|[j i] s IH]; intros st h m H H0; simpl; [exact H0|].
    apply IH; [exact H|]. unfold ctl', cell_ev. apply H.
  Qed.
  (** an attribute is present in the output where a live feeder, or state, has it *)
  Definition past (st : ins) s : hist := snd (fst (final st s)).
  Theorem node_presence st s : (forall n, fresh (st n)) -> good_ins st s ->
    let r := reads (out0 st) (output st s) in
    forall d x, pr r d x = want F (feeders (fun n => reads (st n) (input n s)) (past st s) d x) || keep O (past st s) d x.
  Proof.
    intros Fr G r d x. destruct (node_ok st s Fr G) as [_ K]. fold r in K.
    pose proof (ends_ins s st [] (ctl0 st)) as E. unfold past, final in *.
    destruct (ends st [] (ctl0 st) s) as [[st' h'] m']. destruct K as [_ K], E as [E _]. simpl.
    replace (feeders (fun n => reads (st n) (input n s)) h' d x) with (feeders st' h' d x) by (apply feeders_same; intro n; apply E).
    rewrite <- (ag_pres _ _ _ _ K), <- (ag_kept _ _ _ _ K), <- (ag_fs _ _ _ _ K).
    destruct (ag_inv _ _ _ _ K d x) as (I1 & I2 & I3 & _).
    destruct (opres F (m' d x)), (want F (fs F (m' d x))), (kept F (m' d x)); simpl; auto; try (destruct I2; auto; discriminate); try (symmetry; auto).
  Qed.
End Node.

(** *** Progress: where the live feeders that have an attribute agree, at any prefix *)
Section Progress.
  Context {W : World}.
  Variable O : op.
  Hypothesis O_ok : operator O.
  Lemma fresh_agree st h d x f : (forall n, fresh (st n)) -> agree F (feeders O st h d x) f -> f = one.
  Proof.
    intros Fr [Wt H]. unfold want in Wt. apply existsb_exists in Wt as [y [I L]].
    destruct (H y I L) as [h0 E]. apply in_map_iff in I as [[j c] [<- I]]. unfold feeder1 in E; simpl in E.
    rewrite (proj1 (Fr j)) in E; congruence.
  Qed.
  (** D1: the reader of the output has the attribute there, in the function of the feeders *)
  Theorem node_progress st s : (forall n, fresh (st n)) -> good_ins st s ->
    let r := reads (out0 O st) (output (latest F) O st s) in
    forall d x f, agree F (feeders O (fun n => reads (st n) (input n s)) (past (latest F) O st s) d x) f -> pr r d x = true /\ own r d x = f.
  Proof.
    intros Fr G r d x f Ag. destruct (node_ok (latest F) O O_ok st s Fr G) as [_ K]. fold r in K.
    pose proof (ends_ins (latest F) O s st [] (ctl0 O st)) as E.
    pose proof (ends_cell (latest F) O (fun l a => agree F l f -> opres F a = true /\ o F a = f) d x s st [] (ctl0 O st)) as P.
    unfold past, final in *. destruct (ends (latest F) O st [] (ctl0 O st) s) as [[st' h'] m']. destruct K as [_ K], E as [E _].
    rewrite <- (ag_pres _ _ _ _ _ K), <- (ag_own _ _ _ _ _ K). apply P.
    - intros a l ts kp A. destruct (progress F F_dec one a (D1.Ev F l ts kp) f A); auto.
    - intros A. unfold ctl0, D1.start; simpl. split; [apply A|symmetry; eapply fresh_agree; eassumption].
    - rewrite (feeders_same O (fun n => reads (st n) (input n s)) st') by exact E. exact Ag.
  Qed.
  (** D2: so it is, unless the cell has announced this function since its Add, and no live
      feeder that has the attribute has gone through the cell's own with all others *)
  Theorem node_progress_d2 st s : (forall n, fresh (st n)) -> good_ins st s ->
    let r := reads (out0 O st) (output (next F F_dec) O st s) in
    let l := fun d x => feeders O (fun n => reads (st n) (input n s)) (past (next F F_dec) O st s) d x in
    forall d x f, agree F (l d x) f ->
      pr r d x = true /\ (own r d x = f \/ (In f (hs r d x) /\ ~ In (own r d x) (common F F_dec (l d x)))).
  Proof.
    intros Fr G r l d x f Ag. destruct (node_ok (next F F_dec) O O_ok st s Fr G) as [_ K]. fold r in K.
    pose proof (ends_ins (next F F_dec) O s st [] (ctl0 O st)) as E.
    pose proof (ends_cell (next F F_dec) O (fun l a => agree F l f -> opres F a = true /\
      (o F a = f \/ (In f (said F a) /\ ~ In (o F a) (common F F_dec l)))) d x s st [] (ctl0 O st)) as P.
    unfold past, final in *. destruct (ends (next F F_dec) O st [] (ctl0 O st) s) as [[st' h'] m']. destruct K as [_ K], E as [E _].
    rewrite <- (ag_pres _ _ _ _ _ K), <- (ag_own _ _ _ _ _ K), <- (ag_said _ _ _ _ _ K).
    assert (L : feeders O st' h' d x = l d x) by (unfold l; symmetry; apply feeders_same; intro n; symmetry; apply E).
    rewrite L in P. apply P; [| |exact Ag].
    - intros a l0 ts kp A. destruct (d2_progress F F_dec one a (D1.Ev F l0 ts kp) f A) as [Pp [Q|(Q1 & Q2 & Q3)]]; split; auto.
      right; simpl in *. split; [|rewrite Q1; exact Q3].
      destruct (alters F F_dec one (next F F_dec) a l0); [right|]; exact Q2.
    - intros A. unfold ctl0, D1.start; simpl. split; [apply A|left; symmetry; eapply fresh_agree; eassumption].
  Qed.
End Progress.
