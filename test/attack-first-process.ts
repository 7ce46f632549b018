/**
 * An attack from inside a sandbox on its first process: code is written over the place where it waits for its children
 * (/proc/1/mem), so that it gives up its parent-death signal, reaps nobody and ignores the end of the command. It prints
 * whether the write went through, and returns when that code runs. The machine code is for x86_64.
 */
export const tamperWithFirst = `perl -e '${String.raw`
  $| = 1;
  open(my $where, "<", "/proc/1/syscall") or do { print "denied: $!\n"; exit };
  my $pc = hex((split " ", <$where>)[-1]);
  open(my $memory, "+<", "/proc/1/mem") or do { print "denied: $!\n"; exit };
  # prctl(PR_SET_PDEATHSIG, 0); for (;;) pause();
  my $code = pack "H*", "b89d000000bf0100000031f60f05b8220000000f05ebf7";
  sysseek $memory, $pc, 0;
  print syswrite($memory, $code) ? "tampered\n" : "denied: $!\n";
  # An orphan that ends wakes it up.
  if (!fork) { exit if fork; exit }
  wait;
  for (1 .. 200) {
    open(my $now, "<", "/proc/1/syscall") or last;
    last if <$now> =~ /^34 /;
    select undef, undef, undef, 0.01;
  }
`}'`;

export const canTamper = process.arch === "x64";
