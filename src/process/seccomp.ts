/**
 * The system calls that a program in a sandbox has no use for and that attacks on the kernel begin with: new namespaces and
 * mounts, keys of the user, kernel modules, io_uring, and typing into the terminal it runs in. They fail with EPERM.
 */
const REFUSED: Record<'x64' | 'arm64', Readonly<Record<string, number>>> = {
  x64: {
    ...{ pivot_root: 155, chroot: 161, acct: 163, settimeofday: 164, mount: 165, umount2: 166, swapon: 167 },
    ...{ swapoff: 168, reboot: 169, iopl: 172, ioperm: 173, init_module: 175, delete_module: 176, quotactl: 179 },
    ...{ lookup_dcookie: 212, clock_settime: 227, kexec_load: 246, add_key: 248, request_key: 249, keyctl: 250 },
    ...{ unshare: 272, perf_event_open: 298, open_by_handle_at: 304, clock_adjtime: 305, setns: 308 },
    ...{ finit_module: 313, kexec_file_load: 320, bpf: 321, userfaultfd: 323 },
  },
  arm64: {
    ...{ lookup_dcookie: 18, umount2: 39, mount: 40, pivot_root: 41, chroot: 51, quotactl: 60, acct: 89, unshare: 97 },
    ...{ kexec_load: 104, init_module: 105, delete_module: 106, clock_settime: 112, reboot: 142, settimeofday: 170 },
    ...{ add_key: 217, request_key: 218, keyctl: 219, swapon: 224, swapoff: 225, perf_event_open: 241 },
    ...{ open_by_handle_at: 265, clock_adjtime: 266, setns: 268, finit_module: 273, bpf: 280, userfaultfd: 282 },
    ...{ kexec_file_load: 294 },
  },
};

/** The same on every architecture. */
const REFUSED_EVERYWHERE = {
  ...{ io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427, open_tree: 428, move_mount: 429 },
  ...{ fsopen: 430, fsconfig: 431, fsmount: 432, fspick: 433, mount_setattr: 442 },
};

const ABOUT = {
  x64: { audit: 0xc000003e, clone: 56, ioctl: 16 },
  arm64: { audit: 0xc00000b7, clone: 220, ioctl: 29 },
} as const;

const CLONE3 = 435;
/** Every flag of `clone` that makes a namespace. */
const NEW_NAMESPACE = 0x7e020000;
/** Both put input into a terminal as if a person had typed it. */
const [TIOCSTI, TIOCLINUX] = [0x5412, 0x541c];
/** System calls of the x32 interface have this bit, and numbers of their own. */
const X32 = 0x40000000;

const [ALLOW, EPERM, ENOSYS] = [0x7fff0000, 0x00050001, 0x00050026];
const [LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];
/** Where the kernel puts what is asked about. */
const [NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT] = [0, 4, 16, 24];

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];
const load = (offset: number): Instruction => [LOAD, 0, 0, offset];
const give = (value: number): Instruction => [RETURN, 0, 0, value];
const refuse = (number: number, how = EPERM): Instruction[] => [[EQUAL, 0, 1, number], give(how)];

/** The filter as bubblewrap takes it. Undefined on an architecture whose numbers are not known here. */
export function seccompFilter(architecture: string = process.arch): Buffer | undefined {
  if (architecture !== 'x64' && architecture !== 'arm64') return undefined;
  const { audit, clone, ioctl } = ABOUT[architecture];
  const refused = Object.values({ ...REFUSED[architecture], ...REFUSED_EVERYWHERE });
  return encode([
    load(ARCHITECTURE),
    [EQUAL, 1, 0, audit],
    give(EPERM), // another interface to the kernel has other numbers
    load(NUMBER),
    ...(architecture === 'x64' ? [[AT_LEAST, 0, 1, X32] as const, give(EPERM)] : []),
    ...refused.flatMap((number) => refuse(number)),
    ...refuse(CLONE3, ENOSYS), // its flags lie in memory; libraries fall back to clone
    [EQUAL, 0, 4, clone],
    ...[load(FIRST_ARGUMENT), [ANY_BIT, 0, 1, NEW_NAMESPACE] as const, give(EPERM), give(ALLOW)],
    [EQUAL, 0, 5, ioctl],
    ...[load(SECOND_ARGUMENT), [EQUAL, 1, 0, TIOCSTI] as const, [EQUAL, 0, 1, TIOCLINUX] as const],
    ...[give(EPERM), give(ALLOW)],
    give(ALLOW),
  ]);
}

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}
