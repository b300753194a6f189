/** Ways out of a sandbox, each as a program that prints ESCAPED where it works. `$SECRET`, `$OUT`, `$PORT` and the like are given to it. */

export interface Escape {
  readonly what: string;
  /** A command of bash; Python where it begins with `python:`. */
  readonly program: string;
  /** It works without a sandbox and harms nothing there, which a test shows. */
  readonly control?: true;
}

const syscall = (x64: number, args: string, what: string): Escape => ({
  what,
  program: `python:import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nos.uname().machine == 'x86_64' and libc.syscall(${x64}, ${args}) >= 0 and print('ESCAPED')`,
});
const reads = (what: string, path: string, control?: true): Escape => ({
  what,
  program: `grep -q . ${path} && echo ESCAPED`,
  ...(control ? { control } : {}),
});
const control = true;

export const FILE_ESCAPES: readonly Escape[] = [
  reads("reads a file beside the workspace", '"$SECRET"', control),
  reads("reads it by a relative path", '"../$(basename $(dirname $SECRET))/secret.txt"', control),
  { what: "reads it through a link", program: 'ln -sf "$SECRET" l && grep -q . l && echo ESCAPED', control },
  { what: "reads it through a hard link", program: 'ln "$SECRET" h$$ && grep -q . h$$ && echo ESCAPED', control },
  reads("reads it through its own root", "/proc/self/root$SECRET", control),
  reads("reads it through the root of the first process", "/proc/1/root$SECRET"),
  reads("reads it through the root of its parent", "/proc/$PPID/root$SECRET", control),
  reads("reads it through the folder of the first process", "/proc/1/cwd/$SECRET"),
  reads("reads it through the victim's root", "/proc/$VICTIM/root$SECRET", control),
  {
    what: "reads the environment of other processes",
    program: "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -q '^CANARY_OF_HOST=' && echo ESCAPED",
    control,
  },
  reads("reads the passwords of the system", "/etc/shadow"),
  { what: "lists the folders of users", program: "ls /root/. /home/*/. >/dev/null 2>&1 && echo ESCAPED" },
  {
    what: "finds a file descriptor left open",
    program:
      "python:import os\nfor n in range(3, 1000):\n  try: os.readlink(f'/proc/self/fd/{n}') == '/dev/null' or print('ESCAPED', n, os.readlink(f'/proc/self/fd/{n}'))\n  except OSError: pass",
  },
  { what: "mounts another part of the disk", program: 'mkdir -p m && mount --bind / m && grep -q . "m$SECRET" && echo ESCAPED' },
  {
    what: "leaves by chroot",
    program:
      "python:import os\nos.makedirs('c', exist_ok=True)\ntry:\n  os.chroot('c')\n  for _ in range(50): os.chdir('..')\n  os.chroot('.')\n  open(os.environ['SECRET']).read() and print('ESCAPED')\nexcept OSError as e: print(e)",
  },
  syscall(304, "-100, b'\\0' * 16, 0", "opens a file by its handle"),
  { what: "makes a device node of the disk", program: "mknod d b 254 0 && head -c1 d && echo ESCAPED" },
  {
    what: "reads the memory of the machine",
    program: "head -c1 /dev/mem && echo ESCAPED; head -c1 /dev/kmem && echo ESCAPED; head -c1 /proc/kcore && echo ESCAPED",
  },
  {
    what: "reads the messages of the kernel",
    program:
      "timeout 1 head -c1 /dev/kmsg && echo ESCAPED; timeout 1 head -c1 /proc/kmsg && echo ESCAPED; dmesg >/dev/null 2>&1 && echo ESCAPED",
  },
  reads("reads credentials in the workspace", ".env", control),
  { what: "renames a file of credentials", program: "mv .env shown && grep -q . shown && mv shown .env && echo ESCAPED", control },
  {
    what: "renames the folder of a file of credentials",
    program: "mv nested moved && grep -q . moved/.npmrc && mv moved nested && echo ESCAPED",
    control,
  },
  { what: "copies a file of credentials", program: "cp .env shown && grep -q . shown && echo ESCAPED", control },
  { what: "unmounts what hides credentials", program: "umount .env; umount -l .env; grep -q . .env && echo ESCAPED" },
  { what: "writes beside the workspace", program: 'echo x > "$OUT/x" && echo ESCAPED', control },
  { what: "writes beside the workspace through a link", program: 'ln -sfn "$OUT" o && echo x > o/x && echo ESCAPED', control },
  { what: "appends to a file that it cannot read", program: 'echo x >> "$SECRET" && echo ESCAPED', control },
  { what: "writes to the temporary folder of the host", program: 'echo x > "$(dirname $OUT)/$MARK"; true' },
  { what: "writes to the shared memory of the host", program: 'echo x > "/dev/shm/$MARK"; true' },
  {
    what: "changes the programs of the system",
    program: "cp /bin/true /usr/local/bin/$MARK && echo ESCAPED; cp /bin/true /usr/bin/$MARK && echo ESCAPED",
  },
  { what: "changes the settings of the system", program: "echo >> /etc/passwd && echo ESCAPED; echo >> /etc/ld.so.cache && echo ESCAPED" },
  {
    what: "mounts the system anew for writing",
    program: "mount -o remount,rw /usr && echo ESCAPED; mount -o remount,rw / && echo ESCAPED",
  },
  { what: "adds a hook to the repository", program: "echo true > .git/hooks/pre-commit && echo ESCAPED", control },
  {
    what: "puts another repository in its place",
    program: "mv .git old && cp -r old .git && mv .git gone && mv old .git && echo ESCAPED",
    control,
  },
  { what: "changes the configuration", program: "echo >> haft.toml && echo ESCAPED", control },
  { what: "removes the configuration", program: "cp haft.toml x && rm -f haft.toml && mv x haft.toml && echo ESCAPED", control },
  { what: "renames the folder of a protected file", program: "mv own away && mv away own && echo ESCAPED", control },
  { what: "changes a protected file through a link", program: "ln -sf own/tools.ts t && echo >> t && echo ESCAPED", control },
  {
    what: "names a program for the kernel to run",
    program: 'v=$(cat /proc/sys/kernel/core_pattern) && echo "$v" > /proc/sys/kernel/core_pattern && echo ESCAPED',
  },
  {
    what: "changes settings of the kernel",
    program: "v=$(cat /proc/sys/vm/swappiness) && echo $v > /proc/sys/vm/swappiness && echo ESCAPED",
  },
  {
    what: "writes to any other place in /proc",
    program:
      "find /proc -maxdepth 4 -path '/proc/[0-9]*' -prune -o -path /proc/self -prune -o -path /proc/thread-self -prune -o -type f -writable -print 2>/dev/null | grep -q . && echo ESCAPED",
  },
  {
    what: "mounts the control groups and their agent",
    program:
      "mkdir -p g && mount -t cgroup -o memory cgroup g && echo ESCAPED; mount -t cgroup2 none g && echo ESCAPED; ls /sys/fs/cgroup/* >/dev/null 2>&1 && echo ESCAPED",
  },
];

export const NETWORK_ESCAPES: readonly Escape[] = [
  { what: "reaches a server of this machine", program: "exec 3<>/dev/tcp/127.0.0.1/$PORT && echo ESCAPED", control },
  { what: "reaches it by another of its addresses", program: "exec 3<>/dev/tcp/0.0.0.0/$PORT && echo ESCAPED", control },
  {
    what: "reaches it over IPv6",
    program: "exec 3<>/dev/tcp/::1/$PORT && echo ESCAPED; exec 3<>/dev/tcp/::ffff:127.0.0.1/$PORT && echo ESCAPED",
  },
  {
    what: "reaches a socket in the file system",
    program:
      "python:import os, socket\ntry:\n  socket.socket(socket.AF_UNIX).connect(os.environ['SOCKET']); print('ESCAPED')\nexcept OSError as e: print(e)",
    control,
  },
  {
    what: "reaches a socket without a file",
    program:
      "python:import os, socket\ntry:\n  socket.socket(socket.AF_UNIX).connect('\\0' + os.environ['MARK']); print('ESCAPED')\nexcept OSError as e: print(e)",
    control,
  },
  {
    what: "opens a socket to the host of a virtual machine",
    program: "python:import socket\ntry:\n  socket.socket(40, socket.SOCK_STREAM); print('ESCAPED')\nexcept OSError as e: print(e)",
  },
  {
    what: "opens a socket for raw packets",
    program:
      "python:import socket\nfor f, k in ((17, 3), (2, 3), (38, 5)):\n  try:\n    socket.socket(f, k); print('ESCAPED')\n  except OSError as e: print(e)",
  },
  {
    what: "sends a datagram anywhere",
    program:
      "python:import socket\ntry:\n  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('192.0.2.1', 53)); print('ESCAPED')\nexcept OSError as e: print(e)",
  },
  { what: "resolves a name", program: "timeout 5 getent ahosts example.com && echo ESCAPED" },
  { what: "sees interfaces of the host", program: "[ $(grep -c : /proc/net/dev) -gt 1 ] && echo ESCAPED; true" },
  {
    what: "joins the network of another process",
    program:
      "nsenter -t $PPID -n true 2>/dev/null && exec 3<>/dev/tcp/127.0.0.1/$PORT && echo ESCAPED; nsenter -t 1 -n true && exec 3<>/dev/tcp/127.0.0.1/$PORT && echo ESCAPED",
  },
];

export const PROCESS_ESCAPES: readonly Escape[] = [
  { what: "sees processes outside", program: '[ -e "/proc/$VICTIM" ] && grep -q "$MARK" "/proc/$VICTIM/cmdline" && echo ESCAPED', control },
  { what: "signals a process outside", program: 'kill -0 "$VICTIM" && echo ESCAPED', control },
  { what: "kills everything", program: "kill -9 -1; true" },
  { what: "reads the memory of a process outside", program: "head -c0 /proc/$VICTIM/mem && echo ESCAPED" },
  { what: "gains rights by a program that has them", program: "grep -q '^NoNewPrivs:.*0' /proc/self/status && echo ESCAPED", control },
  { what: "has a capability", program: "grep -E '^Cap(Prm|Eff|Bnd):' /proc/self/status | grep -qv '0000000000000000' && echo ESCAPED" },
  { what: "makes a namespace of users", program: "unshare -U true && echo ESCAPED; unshare -Urm true && echo ESCAPED" },
  syscall(56, "0x10000000 | 17, 0, 0, 0, 0", "makes a namespace of users by clone"),
  {
    what: "types into the terminal",
    program:
      "python:import fcntl, termios\ntry:\n  t = open('/dev/tty'); fcntl.ioctl(t, termios.TIOCSTI, b'x'); print('ESCAPED')\nexcept OSError as e: print(e)",
  },
  {
    what: "takes priority over others",
    program: '[ "$(nice -n -5 nice 2>/dev/null)" = -5 ] && echo ESCAPED; chrt -f 10 true && echo ESCAPED',
  },
  syscall(250, "0, -3, 0", "reads the keys of the user"),
  syscall(321, "0, 0, 0", "loads a program into the kernel"),
  syscall(425, "8, b'\\0' * 120", "makes a queue of the kernel that checks less"),
  syscall(323, "1", "handles its own page faults"),
  { what: "loads a module of the kernel", program: "insmod /dev/null && echo ESCAPED; modprobe dummy && echo ESCAPED" },
  {
    what: "plans something for later",
    program:
      'echo "* * * * * true" | crontab - && echo ESCAPED; echo true | at now + 1 hour && echo ESCAPED; systemd-run --user true && echo ESCAPED',
  },
];

/** Programs that go on after their command, each of which sleeps so long that `ps` would show it. */
export const SURVIVORS: readonly (readonly [what: string, command: (seconds: string) => string])[] = [
  ["in the background", (seconds) => `sleep ${seconds} & disown`],
  ["in a tree of shells", (seconds) => `bash -c "bash -c 'sleep ${seconds} & wait' & wait" & sleep 0.2`],
  ["in a session of its own", (seconds) => `setsid sleep ${seconds} </dev/null >/dev/null 2>&1 & sleep 0.2`],
  ["after two forks", (seconds) => `(setsid bash -c "(sleep ${seconds} &) & exit" &) ; sleep 0.2`],
  ["deaf to hangup", (seconds) => `nohup sleep ${seconds} >/dev/null 2>&1 & sleep 0.1`],
  ["deaf to every signal that it may be", (seconds) => `(trap '' TERM HUP INT QUIT; sleep ${seconds}) & sleep 0.2`],
];

/** What takes more than its share: each is ended, or refused by the kernel. */
export const GREEDY: readonly Escape[] = [
  { what: "takes all memory in one piece", program: "python:x = bytearray(2 << 30); print('ESCAPED')" },
  {
    what: "takes all memory piece by piece",
    program: "python:x = []\nwhile True: x.append(bytearray(8 << 20)); len(x) > 64 and print('ESCAPED')",
  },
  {
    what: "takes all memory by many processes",
    program: "for i in 1 2 3 4 5 6 7 8; do tail -c 60M /dev/zero & done; sleep 8; echo ESCAPED",
  },
  { what: "fills the temporary folder", program: "dd if=/dev/zero of=/tmp/x bs=1M count=400 2>/dev/null && echo ESCAPED" },
  { what: "fills the shared memory", program: "dd if=/dev/zero of=/dev/shm/x bs=1M count=400 2>/dev/null && echo ESCAPED" },
  {
    what: "takes memory that is nobody's",
    program:
      "python:import os\ntry:\n  f = os.memfd_create('x'); [os.write(f, bytes(1 << 20)) for _ in range(400)]; print('ESCAPED')\nexcept OSError as e: print(e)",
  },
  syscall(29, "0, 400 << 20, 0o1600", "takes memory that outlives it"),
  { what: "writes a file without end", program: "truncate -s 8G f && echo ESCAPED; head -c 8G /dev/zero > f && echo ESCAPED; rm -f f" },
  {
    what: "raises its own limits",
    program: "ulimit -d unlimited && echo ESCAPED; ulimit -f unlimited && echo ESCAPED; ulimit -n 100000 && echo ESCAPED",
  },
  // Ends by itself: where root runs the tests beside others, one without end would leave those without processes.
  { what: "forks into thousands", program: 'f() { [ "$1" -gt 0 ] && f $(($1-1)) | f $(($1-1)) & }; f 11; sleep 8; echo ESCAPED' },
  {
    what: "forks without waiting for anything",
    program:
      "python:import os, time\nfor _ in range(3000):\n  try:\n    if os.fork() == 0: time.sleep(60); os._exit(0)\n  except OSError: pass\ntime.sleep(8); print('ESCAPED')",
  },
  { what: "runs without end", program: "trap '' TERM; while :; do :; done; echo ESCAPED" },
  { what: "stops itself", program: "kill -STOP $$; echo ESCAPED" },
  { what: "writes without end", program: "yes; echo ESCAPED" },
];
