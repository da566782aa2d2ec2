/* larder.pml - the life of a replica in Larder (design.md par. 3-5), for Spin 6.5.
 *
 * One process plays masters, nodes, clients and the network: every option of its loop is one atomic step
 * of one party. One process is the reader. A client that never takes its next step has crashed; a message that was once
 * sent stays deliverable for ever, so it may be lost, late, doubled and reordered. Bytes: a chunk holds the put id that wrote it.
 *
 * Sizes (-D):  NM epochs (master m has epoch m+1)   PPM put ids per epoch   NN nodes   NX extents   NK keys
 * Faults (-D): ZOMBIE old master may live on | MCRASH m. crash | NCRASH=k node crashes (new incarnation) | NFILE its content survives
 *              HIDE hidden/lost | DUPREP inventory doubled | SESS session loss drops leases | DISHONEST reader clock wrong
 * Ops (-D):    EVICT REMOVE=k FORCE UPSERT REVOKE TIMEOUT RDR (one-sided) TCP (reader through the node)
 * Guards off:  NO_G1 NO_G2 NO_QUAR NO_MAP NO_RETFOOT NO_FOOT FOOT_NOID NO_ENDFILL NO_WAIT ; CSUM switches guard 5 on
 * Rules:       FIX_TOMB FIX_INC FIX_ALLOLD FIX_LATE FIX_RVK FIX_PEREC FIX_RETMAP FIX_REPONCE FIX_FENCE FIX_MLEASE FIX_FILE FIX_LEASE FIX_GEN
 *              LOWMARK: a node forgets ended put ids below the lowest unfinished one that a command named, and refuses fills below it
 */
#ifndef NM
#define NM 1
#endif
#ifndef PPM
#define PPM 2
#endif
#ifndef NN
#define NN 1
#endif
#ifndef NX
#define NX 1
#endif
#ifndef NK
#define NK 1
#endif
#ifndef NCRASH
#define NCRASH 0
#endif
#ifndef REMOVE
#define REMOVE 0
#endif
#define NP (NM*PPM)
#define B(p) (1<<(p))
#define EP(p) (((p)-1)/PPM)
#define NODE(x) ((x)*NN/NX)
#define ND(p) NODE(px[p])
#define NONE 0
#define PROC 1
#define COMP 2
#define QUAR 3          /* freed, retirement not confirmed */
#define FREE 0          /* node map; 1..3 = filling, 0..2 chunks written */
#define SEALED 4
#define RETIRING 5
#define ALLN ((1<<NN)-1)

typedef master { bit up; bit started; bit rec; byte cnt; byte st[NP+1];
  byte rep;    /* nodes whose report is taken */
  byte sent;   /* nodes whose report is under way or taken */
  byte hid; byte rt; byte cf; byte ls; byte snap[NN]; }
master M[NM];
byte px[NP+1], pk[NP+1], pu[NP+1], pinc[NP+1];      /* a put: extent, key, upsert?, incarnation of the grant */
byte S, SE, DEAD, UA;                               /* ghosts: started, sealed once, killed by an acknowledged op, acknowledged upserts */
byte before[NP+1], wt[NP+1];
byte upw, rvw, rmw, rmk; byte rmm; byte rmn; bit rmon;
byte nep[NN], inc[NN], lost[NN], tomb[NN];
#ifdef LOWMARK
byte low[NN];
#endif
#ifdef FIX_GEN   /* an inventory counts only if its node was taken in by the last epoch whose recovery ended (kept with the epoch) */
byte tk[NN], lastrec;
#endif
byte ms[NX], mp[NX], c0[NX], c1[NX], ft[NX], infl[NX];
byte rp; byte rm; bit rlate; byte rdead;
byte gb;             /* give-backs of leases that are still under way (may be late or doubled) */
bit calm;
hidden byte i, j, w, q, ok;

#define NEWEST(m) ((m)==NM-1 || !M[((m)+1)%NM].started)
#define ISLOST(n) ((lost[n]>>inc[n])&1)
#define MALIVE(m) (M[m].up)
#ifdef FIX_MLEASE      /* a superseded master neither answers nor acknowledges (leader lease, by its own clock) */
#define SPEAKS(m) (M[m].up && NEWEST(m))
#else
#define SPEAKS(m) (M[m].up)
#endif
#ifdef FIX_FENCE
#define MAYLOSE(m) NEWEST(m)
#else
#define MAYLOSE(m) 1
#endif

inline toquar(m,p) {
#ifdef NO_QUAR
  M[m].st[p]=NONE; M[m].rt=M[m].rt|B(p);
#else
  M[m].st[p]=QUAR; M[m].rt=M[m].rt|B(p);
#endif
}
inline older(k,p) { /* w := puts of k that an operation now starting must supersede */
  w=0; i=1; do :: i<=NP -> if :: (S&B(i)) && pk[i]==(k) && i!=(p) -> ok=1; j=0;
      do :: j<NM -> if :: M[j].up && M[j].st[i]==PROC && !NEWEST(j) -> ok=0 :: else fi; j++ :: else -> break od;
      if :: ok -> w=w|B(i) :: else fi :: else fi; i++ :: else -> break od; i=0; j=0; ok=0; }
inline used(m,x) { /* ok := master m holds x allocated */
  ok=0; i=1; do :: i<=NP -> if :: M[m].st[i]!=NONE && px[i]==(x) -> ok=1 :: else fi; i++ :: else -> break od; i=0; }

/* ---- master: puts ---------------------------------------------------------------------------------- */
#define ST(m,i) (M[m].st[i])
#define AT(m,i,x) (i<=NP && ST(m,(i<=NP->i:0))!=NONE && px[(i<=NP->i:0)]==(x))
#define ANYAT(m,x) (AT(m,1,x)||AT(m,2,x)||AT(m,3,x)||AT(m,4,x)||AT(m,5,x)||AT(m,6,x))
#define KS(m,i,k,s) (i<=NP && ST(m,(i<=NP->i:0))==(s) && pk[(i<=NP->i:0)]==(k))
#define ANYKS(m,k,s) (KS(m,1,k,s)||KS(m,2,k,s)||KS(m,3,k,s)||KS(m,4,k,s)||KS(m,5,k,s)||KS(m,6,k,s))
#define KV(m,i,k) (KS(m,i,k,COMP) && !((M[m].hid>>ND((i<=NP->i:0)))&1))
#define ANYKV(m,k) (KV(m,1,k)||KV(m,2,k)||KV(m,3,k)||KV(m,4,k)||KV(m,5,k)||KV(m,6,k))
#define QN(m,i,n) (i<=NP && ST(m,(i<=NP->i:0))==QUAR && ND((i<=NP->i:0))==(n))
#define ANYQN(m,n) (QN(m,1,n)||QN(m,2,n)||QN(m,3,n)||QN(m,4,n)||QN(m,5,n)||QN(m,6,n))

#define PUTSTART(m,k,u,x) :: d_step { SPEAKS(m) && M[m].cnt<PPM && ((M[m].rep>>NODE(x))&1) && !((M[m].hid>>NODE(x))&1) && !ISLOST(NODE(x)) \
    && !ANYAT(m,x) && !ANYKS(m,k,PROC) && ((u) -> !M[m].rec : !ANYKV(m,k)) -> \
    q=(m)*PPM+M[m].cnt+1; M[m].cnt++; M[m].st[q]=PROC; px[q]=x; pk[q]=k; pu[q]=u; pinc[q]=inc[NODE(x)]; \
    older(k,q); before[q]=w; S=S|B(q); q=0; w=0 }
#define PUTEND(m,p) :: d_step { SPEAKS(m) && (SE&B(p)) && M[m].st[p]==PROC && pinc[p]==inc[ND(p)] -> \
    w=0; q=1; do :: q<=NP -> if :: q!=(p) && pk[q]==pk[p] && M[m].st[q]==COMP -> toquar(m,q); w=w|B(q) \
       :: else -> if :: EXTRAOLD(m,q) && q!=(p) && pk[q]==pk[p] -> w=w|B(q) :: else fi fi; q++ :: else -> break od; q=0; \
    M[m].st[p]=COMP; if :: pu[p] -> wt[p]=w; upw=upw|B(p) :: else fi; w=0 }
#ifdef FIX_ALLOLD      /* wait for every unretired replica of the key, evicted and failed ones too */
#define EXTRAOLD(m,q) (M[m].st[q]==QUAR)
#else
#define EXTRAOLD(m,q) 0
#endif
#define WAITED(m,set) (!(((set)&2)&&NP>=1&&ST(m,1)==QUAR) && !(((set)&4)&&ST(m,(NP>=2->2:0))==QUAR) && !(((set)&8)&&ST(m,(NP>=3->3:0))==QUAR) \
    && !(((set)&16)&&ST(m,(NP>=4->4:0))==QUAR) && !(((set)&32)&&ST(m,(NP>=5->5:0))==QUAR) && !(((set)&64)&&ST(m,(NP>=6->6:0))==QUAR))
#define UPACK(m,p) :: d_step { SPEAKS(m) && EP(p)==(m) && (upw&B(p)) && WAITED(m,wt[p]) -> upw=upw&~B(p); DEAD=DEAD|before[p]; UA=UA|B(p); wt[p]=0 }
/* PutEnd of an upsert sealed under an older epoch and taken up by m: "repeating one is harmless" */
#ifdef FIX_PEREC
#define OLDQ(m,i,p) (i<(p) && ST(m,(i<=NP->i:0))==QUAR && pk[(i<=NP->i:0)]==pk[p])
#define PERECOK(m,p) (!M[m].rec && !OLDQ(m,1,p)&&!OLDQ(m,2,p)&&!OLDQ(m,3,p)&&!OLDQ(m,4,p)&&!OLDQ(m,5,p)&&!OLDQ(m,6,p))
#else
#define PERECOK(m,p) 1
#endif
#define UPREC(m,p) :: d_step { SPEAKS(m) && (SE&B(p)) && EP(p)<(m) && pu[p] && M[m].st[p]==COMP && !(UA&B(p)) && PERECOK(m,p) -> \
    DEAD=DEAD|before[p]; UA=UA|B(p); upw=upw&~B(p); wt[p]=0 }
#define TIMEOUT_(m,p) :: d_step { MALIVE(m) && M[m].st[p]==PROC -> toquar(m,p) }
#define REVOKE_(m,p) :: d_step { SPEAKS(m) && M[m].st[p]==PROC -> toquar(m,p); rvw=rvw|B(p) }
#define RVACK(m,p)   :: d_step { SPEAKS(m) && EP(p)==(m) && (rvw&B(p)) && M[m].st[p]==NONE -> rvw=rvw&~B(p); DEAD=DEAD|B(p) }
#ifdef FIX_RVK
#define RVOK(m) (!M[m].rec)
#else
#define RVOK(m) 1
#endif
/* PutRevoke of a put that m does not know (older epoch): answered at once */
#define RVUNK(m,p)   :: d_step { SPEAKS(m) && EP(p)<(m) && (S&B(p)) && !(DEAD&B(p)) && M[m].st[p]==NONE && RVOK(m) && !(UA&B(p)) -> DEAD=DEAD|B(p) }
#ifdef NO_G2
#define LEASED(m,p) 0
#else
#define LEASED(m,p) (M[m].ls&B(p))
#endif
#define EVICT_(m,p)  :: d_step { MALIVE(m) && M[m].st[p]==COMP && !LEASED(m,p) -> toquar(m,p) }
#define LK(m,i,k) (KS(m,i,k,COMP) && LEASED(m,i))
#define ANYLK(m,k) (LK(m,1,k)||LK(m,2,k)||LK(m,3,k)||LK(m,4,k)||LK(m,5,k)||LK(m,6,k))
#ifdef FORCE
#define RMLEASE(m,k) 1
#else
#define RMLEASE(m,k) (!ANYLK(m,k))
#endif
#define REMOVE_(m,k) :: d_step { SPEAKS(m) && !M[m].rec && !rmon && rmn<REMOVE && RMLEASE(m,k) -> \
    older(k,0); rmk=w; w=0; q=1; do :: q<=NP -> if :: pk[q]==(k) && (M[m].st[q]==COMP || M[m].st[q]==PROC) -> toquar(m,q); w=w|B(q) \
       :: else -> if :: EXTRAOLD(m,q) && pk[q]==(k) -> w=w|B(q) :: else fi fi; q++ :: else -> break od; q=0; \
    if :: NFOK(w) -> rmw=w; rmm=m; rmon=1 :: else -> rmk=0 fi; w=0; rmn++ }
#ifdef NONF           /* NOT_FOUND is not counted as an acknowledged remove */
#define NFOK(w_) (w_!=0)
#else
#define NFOK(w_) 1
#endif
#define RMACK(m) :: d_step { rmon && rmm==(m) && SPEAKS(m) && WAITED(m,rmw) -> DEAD=DEAD|rmk; rmw=0; rmk=0; rmm=0; rmon=0 }
#ifdef FIX_ORD      /* confirmations from a node count only once its report (of this registration) is taken */
#define ORDOK(m,p) ((M[m].rep>>ND(p))&1)
#else
#define ORDOK(m,p) 1
#endif
#define CONFIRM(m,p) :: d_step { MALIVE(m) && (M[m].cf&B(p)) && M[m].st[p]==QUAR && ORDOK(m,p) -> M[m].st[p]=NONE }
/* ---- node ------------------------------------------------------------------------------------------ */
#if defined(FIX_TOMB) && defined(LOWMARK)
#define TOMBOK(p) (!(tomb[ND(p)]&B(p)) && !((p)<low[ND(p)] && EP(p)==EP(low[ND(p)])))
#define SETTOMB(p) tomb[ND(p)]=tomb[ND(p)]|B(p)
/* a command of m, of any kind, tells n its lowest unfinished put (built: core/node/ended_puts.h); a late one is one not taken */
#define UNF(m,i) (i>(m)*PPM && i<=(m)*PPM+M[m].cnt && ST(m,(i<=NP->i:0))==PROC)
#define LOWEST(m) (UNF(m,1)->1:(UNF(m,2)->2:(UNF(m,3)->3:(UNF(m,4)->4:(UNF(m,5)->5:(UNF(m,6)->6:(m)*PPM+M[m].cnt+1))))))
#define LOW_(m,n) :: d_step { M[m].up && nep[n]==(m)+1 && M[m].cnt<PPM && LOWEST(m)>low[n] -> low[n]=LOWEST(m); \
    q=1; do :: q<low[n] -> tomb[n]=tomb[n]&~B(q); q++ :: else -> break od; q=0 }
#elif defined(FIX_TOMB)
#define TOMBOK(p) (!(tomb[ND(p)]&B(p)))
#define SETTOMB(p) tomb[ND(p)]=tomb[ND(p)]|B(p)
#else
#define TOMBOK(p) 1
#define SETTOMB(p) skip
#endif
#ifdef FIX_INC
#define INCOK(p) (pinc[p]==inc[ND(p)])
#else
#define INCOK(p) 1
#endif
#ifdef NO_MAP
#define MAPOK(p) (!(mp[px[p]]==(p)))
#else
#ifdef FIX_RETMAP
#define MAPOK(p) (ms[px[p]]==FREE)
#else
#define MAPOK(p) (ms[px[p]]==FREE || ms[px[p]]==RETIRING)  /* text: the map knows only filling and sealed */
#endif
#endif
#ifdef NO_EPOCH
#define EPOK(p) 1
#else
#define EPOK(p) (nep[ND(p)]==EP(p)+1)
#endif
#define FILL(p) :: d_step { (S&B(p)) && EPOK(p) && MAPOK(p) && TOMBOK(p) && INCOK(p) -> ms[px[p]]=1; mp[px[p]]=p }
/* ablation of 'one writer': the client itself WRITEs into its extent, and may wake up late */
#define RW0(p) :: d_step { (S&B(p)) && c0[px[p]]!=p -> c0[px[p]]=p }
#define RW1(p) :: d_step { (S&B(p)) && c1[px[p]]!=p -> c1[px[p]]=p }
#define CH0(x) :: d_step { ms[x]==1 -> c0[x]=mp[x]; ms[x]=2 }
#define CH1(x) :: d_step { ms[x]==2 -> c1[x]=mp[x]; ms[x]=3 }
#define SEAL(x) :: d_step { ms[x]==3 -> ft[x]=mp[x]; ms[x]=SEALED; SE=SE|B(mp[x]) }
#define CFANY(p) j=0; do :: j<NM -> if :: M[j].up && (M[j].rt&B(p)) && nep[ND(p)]==j+1 -> M[j].cf=M[j].cf|B(p) :: else fi; j++ :: else -> break od; j=0
#ifdef NO_RETFOOT
#define CLRF(x) skip
#else
#define CLRF(x) ft[x]=0
#endif
#ifdef NO_ENDFILL
#define HOLDS(p) (mp[px[p]]==(p) && ms[px[p]]==SEALED)
#else
#define HOLDS(p) (mp[px[p]]==(p) && ms[px[p]]>=1 && ms[px[p]]<=SEALED)
#endif
#ifdef NO_WAIT
#define BUSY(x) 0
#else
#define BUSY(x) (infl[x]>0)
#endif
#define RETIRE(m,p) :: d_step { (M[m].rt&B(p)) && nep[ND(p)]==(m)+1 && !(M[m].cf&B(p) && !HOLDS(p) && !TOMBOK2(p)) && !(mp[px[p]]==(p) && ms[px[p]]==RETIRING) -> \
    SETTOMB(p); if :: HOLDS(p) -> CLRF(px[p]); if :: BUSY(px[p]) -> ms[px[p]]=RETIRING :: else -> ms[px[p]]=FREE; mp[px[p]]=0; \
      if :: M[m].up -> M[m].cf=M[m].cf|B(p) :: else fi fi :: else -> if :: M[m].up -> M[m].cf=M[m].cf|B(p) :: else fi fi }
#ifdef FIX_TOMB
#define TOMBOK2(p) TOMBOK(p)
#else
#define TOMBOK2(p) 0
#endif
#define RETEND(x) :: d_step { ms[x]==RETIRING && infl[x]==0 -> ms[x]=FREE; q=mp[x]; mp[x]=0; CFANY(q); q=0 }
#ifdef NFILE
#define KEEP(x) (ms[x]==SEALED)
#else
#define KEEP(x) 0
#endif
#ifdef LOWMARK
#define RESETLOW(n) low[n]=0
#else
#define RESETLOW(n) skip
#endif
#define NCRASH_(n) :: d_step { inc[n]<NCRASH -> inc[n]=inc[n]+1; nep[n]=0; tomb[n]=0; RESETLOW(n); \
    j=0; do :: j<NX -> if :: NODE(j)==(n) -> if :: KEEP(j) -> skip :: else -> ms[j]=FREE; mp[j]=0; ft[j]=0; c0[j]=0; c1[j]=0 fi; infl[j]=0 \
      :: else fi; j++ :: else -> break od; j=0; \
    if :: rp && ND(rp)==(n) -> rlate=1 :: else fi }      /* its connections break: the read fails */
#if defined(FIX_GEN) && !defined(GEN_NAIVE)
#define STALE(n) (tk[n]<lastrec)
#else
#define STALE(n) 0
#endif
#ifdef FIX_FILE
#define INHLOST(n) (lost[n]!=0)     /* content inherited from an incarnation that was lost: retire it */
#else
#define INHLOST(n) 0
#endif
/* node meets master m: ends older fills, sends its inventory (a lost incarnation is told to retire everything, and starts anew) */
#define IDLE(x,n) (x>=NX || NODE(x)!=(n) || infl[(x<NX->x:0)]==0)
#define MEET(m,n) :: d_step { MALIVE(m) && (nep[n]<(m)+1 || ((ISLOST(n) || (STALE(n) && !((M[m].rep>>(n))&1) && M[m].snap[n])) && nep[n]==(m)+1)) && (!(ISLOST(n)||INHLOST(n)||STALE(n)) || (IDLE(0,n)&&IDLE(1,n))) -> nep[n]=(m)+1; M[m].snap[n]=0; \
    j=0; do :: j<NX -> if :: NODE(j)==(n) -> \
        if :: ms[j]>=1 && ms[j]<=3 -> ms[j]=FREE; mp[j]=0 \
           :: ms[j]==RETIRING && !FIXRM -> ms[j]=FREE; mp[j]=0 \
           :: ms[j]==SEALED && (ISLOST(n) || INHLOST(n) || STALE(n)) -> ms[j]=FREE; mp[j]=0; ft[j]=0 \
           :: ms[j]==SEALED && !(ISLOST(n) || INHLOST(n) || STALE(n)) -> M[m].snap[n]=M[m].snap[n]|B(mp[j]) :: else fi \
      :: else fi; j++ :: else -> break od; j=0; \
    if :: ISLOST(n) -> inc[n]=inc[n]+1 :: else fi; \
    i=1; do :: i<=NP -> if :: ND(i)==(n) && pinc[i]!=inc[n] && !((M[m].snap[n])&B(i)) -> M[m].st[i]=NONE; M[m].cf=M[m].cf&~B(i) :: else fi; i++ :: else -> break od; i=0; \
    if :: inc[n]>0 -> lost[n]=lost[n]|((1<<inc[n])-1) :: else fi; \
    M[m].sent=M[m].sent|(1<<(n)); M[m].rep=M[m].rep&~(1<<(n)); M[m].hid=M[m].hid&~(1<<(n)) }
#ifdef FIX_RETMAP
#define FIXRM 1
#else
#define FIXRM 0
#endif
#ifdef FIX_GEN
#define TAKEUP(m,n) (tk[n]>=lastrec)
#define SETTK(m,n) tk[n]=(m)+1
#define SETLR(m) if :: lastrec<(m)+1 -> lastrec=(m)+1 :: else fi
#elif defined(FIX_LATE)
#define TAKEUP(m,n) (M[m].rec)
#else
#define TAKEUP(m,n) 1
#endif
#ifndef FIX_GEN
#define SETTK(m,n) skip
#define SETLR(m) skip
#endif
#ifdef DUPREP
#ifdef FIX_REPONCE
#define REPOK(m,n) (!((M[m].rep>>(n))&1))
#else
#define REPOK(m,n) (!((M[m].rep>>(n))&1) || (M[m].snap[n]!=0))
#endif
#else
#define REPOK(m,n) (!((M[m].rep>>(n))&1))
#endif
#ifdef CHK6
#define C6(w_,l_) assert(!((UA&B(l_)) && !(DEAD&B(l_)) && !pu[w_] && EP(w_)>EP(l_)))  /* S6: a plain put replaces an acknowledged upsert */
#else
#define C6(w_,l_) skip
#endif
#define REPORT(m,n) :: d_step { MALIVE(m) && ((M[m].sent>>(n))&1) && REPOK(m,n) && nep[n]==(m)+1 && !ISLOST(n) && !(STALE(n) && M[m].snap[n]) -> \
    M[m].rep=M[m].rep|(1<<(n)); \
    q=1; do :: q<=NP -> if :: ((M[m].snap[n])&B(q)) && M[m].st[q]==NONE -> \
        w=0; i=1; do :: i<=NP -> if :: i!=q && pk[i]==pk[q] && M[m].st[i]==COMP -> if :: i>q -> w=1; C6(i,q) :: else -> toquar(m,i) fi :: else fi; i++ :: else -> break od; i=0; \
        if :: w || !TAKEUP(m,n) -> M[m].st[q]=QUAR; M[m].rt=M[m].rt|B(q) :: else -> M[m].st[q]=COMP fi; w=0 :: else fi; q++ :: else -> break od; q=0; SETTK(m,n) }
#ifdef RECALL     /* recovery ends only when all nodes have reported or are lost */
#define RECDONE(m) (M[m].rep==ALLN)
#else
#define RECDONE(m) 1
#endif
#define RECEND(m) :: d_step { MALIVE(m) && M[m].rec && RECDONE(m) -> \
    j=0; do :: j<NN -> if :: LATELOST && !((M[m].rep>>j)&1) -> lost[j]=lost[j]|(1<<inc[j]) :: else fi; j++ :: else -> break od; j=0; M[m].rec=0; SETLR(m) }
#ifdef FIX_LATE2   /* and who has not reported by then is entered in the kept list of lost incarnations */
#define LATELOST 1
#else
#define LATELOST 0
#endif
/* ---- faults ---------------------------------------------------------------------------------------- */
#ifdef ZOMBIE
#define MAYSTART(m) 1
#else
#define MAYSTART(m) (!M[(m)-1].up)
#endif
#define MSTART(m) :: d_step { (m)>0 && !M[m].started && M[(m)-1].started && MAYSTART(m) -> M[m].up=1; M[m].started=1; M[m].rec=1 }
#define MCRASH_(m) :: d_step { M[m].up && (m)<NM-1 -> M[m].up=0; M[m].rec=0; M[m].rep=0; M[m].sent=0; M[m].hid=0; M[m].cf=0; M[m].ls=0; M[m].cnt=0; \
    i=1; do :: i<=NP -> M[m].st[i]=NONE; if :: EP(i)==(m) -> wt[i]=0; upw=upw&~B(i); rvw=rvw&~B(i) :: else fi; i++ :: else -> break od; i=0; \
    j=0; do :: j<NN -> M[m].snap[j]=0; j++ :: else -> break od; j=0; \
    if :: rmon && rmm==(m) -> rmon=0; rmw=0; rmk=0; rmm=0 :: else fi; FIXL(m) }
#ifdef FIX_LEASE  /* a new master frees nothing until the leases of the old one have run out */
#define FIXL(m) if :: rp && rm==(m) -> rlate=1 :: else fi
#else
#define FIXL(m) skip
#endif
#define HIDE_(m,n) :: d_step { MALIVE(m) && ((M[m].rep>>(n))&1) && !((M[m].hid>>(n))&1) -> M[m].hid=M[m].hid|(1<<(n)) }
#define SHOW_(m,n) :: d_step { MALIVE(m) && ((M[m].hid>>(n))&1) && nep[n]==(m)+1 && !ANYQN(m,n) -> M[m].hid=M[m].hid&~(1<<(n)) }
#define LOSE_(m,n) :: d_step { MALIVE(m) && ((M[m].hid>>(n))&1) && inc[n]<2 && MAYLOSE(m) -> lost[n]=lost[n]|(1<<inc[n]); M[m].hid=M[m].hid&~(1<<(n)); M[m].rep=M[m].rep&~(1<<(n)); \
    M[m].sent=M[m].sent&~(1<<(n)); i=1; do :: i<=NP -> if :: ND(i)==(n) && M[m].st[i]!=NONE -> M[m].st[i]=NONE; M[m].cf=M[m].cf&~B(i) :: else fi; i++ :: else -> break od; i=0 }
#define GB(m,p) :: d_step { MALIVE(m) && (gb&B(p)) && (M[m].ls&B(p)) -> M[m].ls=M[m].ls&~B(p) }   /* text: a give-back names no grant */
#define SESS_(m) :: d_step { MALIVE(m) && M[m].ls!=0 -> M[m].ls=0 }
#ifdef DISHONEST
#define LEXP(m) :: d_step { MALIVE(m) && M[m].ls!=0 -> M[m].ls=0 }
#else
#define LEXP(m) :: d_step { MALIVE(m) && M[m].ls!=0 -> M[m].ls=0; rlate=1 }   /* the reader's own deadline came earlier */
#endif

/* ---- expansion over indices ------------------------------------------------------------------------ */
#if NM==1
#define MM(A) A(0)
#elif NM==2
#define MM(A) A(0) A(1)
#else
#define MM(A) A(0) A(1) A(2)
#endif
#if NP==1
#define PP(A) A(1)
#define PM(A,m) A(m,1)
#elif NP==2
#define PP(A) A(1) A(2)
#define PM(A,m) A(m,1) A(m,2)
#elif NP==3
#define PP(A) A(1) A(2) A(3)
#define PM(A,m) A(m,1) A(m,2) A(m,3)
#elif NP==4
#define PP(A) A(1) A(2) A(3) A(4)
#define PM(A,m) A(m,1) A(m,2) A(m,3) A(m,4)
#else
#define PP(A) A(1) A(2) A(3) A(4) A(5) A(6)
#define PM(A,m) A(m,1) A(m,2) A(m,3) A(m,4) A(m,5) A(m,6)
#endif
#if NM==1
#define MP(A) PM(A,0)
#elif NM==2
#define MP(A) PM(A,0) PM(A,1)
#else
#define MP(A) PM(A,0) PM(A,1) PM(A,2)
#endif
#if NN==1
#define NNm(A,m) A(m,0)
#define NNs(A) A(0)
#else
#define NNm(A,m) A(m,0) A(m,1)
#define NNs(A) A(0) A(1)
#endif
#if NM==1
#define MN(A) NNm(A,0)
#elif NM==2
#define MN(A) NNm(A,0) NNm(A,1)
#else
#define MN(A) NNm(A,0) NNm(A,1) NNm(A,2)
#endif
#if NX==1
#define XX(A) A(0)
#define PSX(m,k,u) PUTSTART(m,k,u,0)
#else
#define XX(A) A(0) A(1)
#define PSX(m,k,u) PUTSTART(m,k,u,0) PUTSTART(m,k,u,1)
#endif
#ifdef UPSERT
#define PSU(m,k) PSX(m,k,0) PSX(m,k,1)
#else
#define PSU(m,k) PSX(m,k,0)
#endif
#if NK==1
#define PS(m) PSU(m,0)
#define RM(m) REMOVE_(m,0)
#else
#define PS(m) PSU(m,0) PSU(m,1)
#define RM(m) REMOVE_(m,0) REMOVE_(m,1)
#endif

/* ---- invariants watched in every state --------------------------------------------------------------- */
#define S2BAD(m,x,p) (p<=NP && M[m].up && NEWEST(m) && M[m].st[(p<=NP->p:0)]==COMP && px[(p<=NP->p:0)]==(x) && ms[x]==SEALED && mp[x]!=(p) && pinc[(p<=NP->p:0)]==inc[NODE(x)])
#define S2X(m,x) (S2BAD(m,x,1)||S2BAD(m,x,2)||S2BAD(m,x,3)||S2BAD(m,x,4)||S2BAD(m,x,5)||S2BAD(m,x,6))
#define FBAD(x) (ft[x]!=0 && !(ms[x]==SEALED && mp[x]==ft[x]))
#ifdef INVS
active proctype watch() {
end:  d_step { (S2X(0,0) || S2X(NM-1,0) || S2X(0,NX-1) || S2X(NM-1,NX-1)) -> assert(false) }   /* S2 */
}
#endif
#ifdef INVF
active proctype watchf() { end: d_step { (FBAD(0) || FBAD(NX-1)) -> assert(false) } }            /* no valid footer outside the map */
#endif

#ifdef LIVE
#define LR(m,p) :: d_step { M[m].up && M[m].st[p]==QUAR && nep[ND(p)]==(m)+1 && !(M[m].cf&B(p)) && !(mp[px[p]]==(p)&&ms[px[p]]==RETIRING) -> \
   if :: HOLDS(p) -> ft[px[p]]=0; if :: BUSY(px[p]) -> ms[px[p]]=RETIRING :: else -> ms[px[p]]=FREE; mp[px[p]]=0; M[m].cf=M[m].cf|B(p) fi :: else -> M[m].cf=M[m].cf|B(p) fi }
#define LRETIRE MP(LR)
#endif

active proctype world() {
  d_step { M[0].up=1; M[0].started=1; M[0].rep=ALLN; M[0].sent=ALLN; SETLR(0); j=0; do :: j<NN -> nep[j]=1; SETTK(0,j); j++ :: else -> break od; j=0 }
#ifdef LIVE
  do
#else
end: do
#endif
#ifdef LOWMARK
  MN(LOW_)
#endif
  MM(PS) MP(PUTEND) PP(FILL) XX(CH0) XX(CH1) XX(SEAL) MP(RETIRE) MP(CONFIRM)
#ifdef NO_ONEWRITER
  PP(RW0) PP(RW1)
#endif
#ifdef TCP
  XX(RETEND)
#endif
#ifdef UPSERT
  MP(UPACK) MP(UPREC)
#endif
#ifdef TIMEOUT
  MP(TIMEOUT_)
#endif
#ifdef REVOKE
  MP(REVOKE_) MP(RVACK) MP(RVUNK)
#endif
#ifdef EVICT
  MP(EVICT_)
#endif
#if REMOVE>0
  MM(RM) MM(RMACK)
#endif
#if NM>1
  MM(MSTART) MN(MEET) MN(REPORT) MM(RECEND)
#elif NCRASH>0 || defined(HIDE)
  MN(MEET) MN(REPORT)
#endif
#ifdef MCRASH
  MM(MCRASH_)
#endif
#if NCRASH>0
  NNs(NCRASH_)
#endif
#ifdef HIDE
  MN(HIDE_) MN(SHOW_) MN(LOSE_)
#endif
#if (defined(RDR) || defined(TCP)) && !defined(NO_G2)
  MM(LEXP)
#endif
#ifdef SESS
  MM(SESS_)
#endif
#ifdef GIVEBACK
  MP(GB)
#endif
#ifdef LIVE
  :: calm=1 -> break
#endif
  od;
#ifdef LIVE
  /* faults have stopped: no new request, no client comes back, messages arrive; the last master lives and the older ones are gone */
  do
  :: d_step { M[0].up && NM>1 && M[NM-1].started && NM-1!=0 -> M[0].up=0; M[0].rec=0; j=1; do :: j<=NP -> M[0].st[j]=NONE; j++ :: else -> break od; j=0 }
  XX(CH0) XX(CH1) XX(SEAL) LRETIRE MP(CONFIRM) MP(TIMEOUT_) 
#ifdef TCP
  XX(RETEND)
#endif
#if NM>1
  MM(MSTART) MN(MEET) MN(REPORT) MM(RECEND)
#elif NCRASH>0 || defined(HIDE)
  MN(MEET) MN(REPORT)
#endif
#ifdef HIDE
  MN(SHOW_)
#endif
  :: else -> break
  od;
  /* every extent is free on both sides or holds an object of the directory */
#define LM (M[NM-1].up -> NM-1 : 0)
  j=0; do :: j<NX -> assert((ms[j]==FREE && !ANYAT(LM,j) && ((M[LM].rep>>NODE(j))&1) && !((M[LM].hid>>NODE(j))&1) && !ISLOST(NODE(j)) && !M[LM].rec) || (ms[j]==SEALED && M[LM].st[mp[j]]==COMP)); j++ :: else -> break od
#endif
}

#if defined(RDR) || defined(TCP)
#ifdef NO_G1
#define ANSWERS(m,p) (M[m].st[p]==COMP || M[m].st[p]==PROC)
#else
#define ANSWERS(m,p) (M[m].st[p]==COMP)
#endif
#ifdef NO_S4
#define S4(m,p) skip
#else
#define S4(m,p) if :: NEWEST(m) -> assert(!(DEAD&B(p))) :: else fi
#endif
#ifdef NO_S3
#define S3(p) skip
#else
#define S3(p) assert(SE&B(p))
#endif
#define GET(m,p) :: d_step { SPEAKS(m) && ANSWERS(m,p) && ((M[m].rep>>ND(p))&1) && !((M[m].hid>>ND(p))&1) -> \
    rp=p; rm=m; rdead=DEAD&B(p); rlate=0; M[m].ls=M[m].ls|B(p); S4(m,p); S3(p) }
active proctype reader() { byte a, b;
#ifdef GIVEBACK
  bit n;
#endif
end: if MP(GET) fi;
#ifdef TCP
  if :: d_step { ms[px[rp]]==SEALED && mp[px[rp]]==rp && !rlate -> infl[px[rp]]=infl[px[rp]]+1 } :: goto out fi;
  if :: a=c0[px[rp]]; b=c1[px[rp]] :: b=c1[px[rp]]; a=c0[px[rp]] fi;
  d_step { if :: infl[px[rp]]>0 -> infl[px[rp]]=infl[px[rp]]-1 :: else fi }
#else
  if :: a=c0[px[rp]]; b=c1[px[rp]] :: b=c1[px[rp]]; a=c0[px[rp]] fi;
#ifndef NO_FOOT
#ifdef FOOT_NOID
  if :: ft[px[rp]]!=0 && pk[ft[px[rp]]]==pk[rp] :: else -> goto out fi;
#else
  if :: ft[px[rp]]==rp :: else -> goto out fi;
#endif
#endif
#endif
#ifndef NO_G2
  if :: rlate -> goto out :: else fi;
#endif
#ifdef CSUM
  if :: !(a==rp && b==rp) -> goto out :: else fi;
#endif
  assert(a==rp && b==rp);     /* S1: whole, of this put */
  assert(SE&B(rp));           /* S1: sealed */
#ifndef NO_S4
  assert(!rdead);             /* S1: not removed or overwritten by what was acknowledged before the read began */
#endif
out: atomic {
#ifdef GIVEBACK
  gb=gb|B(rp);
#endif
  M[rm].ls=M[rm].ls&~B(rp); rp=0; rm=0; rlate=0; rdead=0; a=0; b=0 }
#ifdef GIVEBACK
  if :: n==0 -> n=1; goto end :: else fi
#endif
}
#endif
