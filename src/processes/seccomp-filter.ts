/** The system calls refused to a sandboxed program: parts of the kernel and ways around the limits that ordinary programs do not need. */

/** Numbers of the system calls on x64 and on arm64. @see https://github.com/torvalds/linux/blob/master/arch/x86/entry/syscalls/syscall_64.tbl */
const REFUSED_SYSCALLS: Readonly<Record<string, readonly [x64: number, arm64: number]>> = {
  // the user's keys, which no namespace isolates
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // memory that no limit counts
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  shmget: [29, 194],
  // large parts of the kernel
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  // namespaces, mounts and files without a path
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  mount_setattr: [442, 442],
  setns: [308, 268],
  unshare: [272, 97],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  // the machine as a whole
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  syslog: [103, 116],
};

/**
 * AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK. Others, such as vsock between a virtual machine and its host, are not isolated by a network
 * namespace or are rarely used parts of the kernel.
 */
const SOCKET_FAMILIES: readonly number[] = [1, 2, 10, 16];

interface Machine {
  readonly auditArch: number;
  readonly column: 0 | 1;
  readonly socket: number;
}

const MACHINES: ReadonlyMap<string, Machine> = new Map([
  ["x64", { auditArch: 0xc000003e, column: 0, socket: 41 }],
  ["arm64", { auditArch: 0xc00000b7, column: 1, socket: 198 }],
]);

// https://www.kernel.org/doc/html/latest/userspace-api/seccomp_filter.html
const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const ERRNO = 0x00050000;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const AT_NUMBER = 0;
const AT_ARCH = 4;
const AT_FIRST_ARGUMENT = 16;
/** System call numbers from here on are of the x32 ABI, which reaches the same calls. */
const X32_BIT = 0x40000000;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** Returns the filter in the format of the kernel; undefined on a CPU architecture whose numbers are not known here. */
export function seccompFilter(): Buffer | undefined {
  const machine = MACHINES.get(process.arch);
  if (machine === undefined) return undefined;
  return assemble([
    [LOAD, 0, 0, AT_ARCH],
    [JUMP_EQUAL, 1, 0, machine.auditArch],
    [RETURN, 0, 0, ERRNO | ENOSYS],
    [LOAD, 0, 0, AT_NUMBER],
    [JUMP_AT_LEAST, 0, 1, X32_BIT],
    [RETURN, 0, 0, ERRNO | ENOSYS],
    ...Object.values(REFUSED_SYSCALLS).flatMap((numbers): readonly Instruction[] => [
      [JUMP_EQUAL, 0, 1, numbers[machine.column]],
      [RETURN, 0, 0, ERRNO | EPERM],
    ]),
    [JUMP_EQUAL, 1, 0, machine.socket],
    [RETURN, 0, 0, ALLOW],
    [LOAD, 0, 0, AT_FIRST_ARGUMENT],
    ...SOCKET_FAMILIES.flatMap((family): readonly Instruction[] => [
      [JUMP_EQUAL, 0, 1, family],
      [RETURN, 0, 0, ALLOW],
    ]),
    [RETURN, 0, 0, ERRNO | EAFNOSUPPORT],
  ]);
}

function assemble(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    const at = index * 8;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(ifTrue, at + 2);
    bytes.writeUInt8(ifFalse, at + 3);
    bytes.writeUInt32LE(value >>> 0, at + 4);
  }
  return bytes;
}
