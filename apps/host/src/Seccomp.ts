/**
 * The system calls that a run never needs and that kernels were broken through:
 * refused by a seccomp filter, as classic BPF, which bubblewrap installs before
 * it starts the runner.
 */

interface Architecture {
  /** AUDIT_ARCH_* of the kernel. */
  readonly audit: number
  /** Calls above this number belong to a second ABI (x32) and are refused. */
  readonly highest: number
  readonly clone: number
  readonly denied: ReadonlyArray<number>
}

/** io_uring, new mount API, pidfd_getfd: one number on every architecture. */
const sharedDenied = [425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442]
const clone3 = 435

// Both lists: ptrace, process_vm_readv, process_vm_writev, mount, umount2, pivot_root, chroot, unshare, setns, bpf,
// perf_event_open, keyctl, add_key, request_key, kexec_load, kexec_file_load, init_module, finit_module, delete_module,
// userfaultfd, reboot, swapon, swapoff, name_to_handle_at, open_by_handle_at, quotactl, acct, syslog; x64 also iopl, ioperm.
const architectures: Partial<Record<NodeJS.Architecture, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    highest: 0x40000000,
    clone: 56,
    denied: [
      101, 310, 311, 165, 166, 155, 161, 272, 308, 321, 298, 250, 248, 249, 246, 320, 175, 313, 176, 323, 169, 167, 168,
      303, 304, 179, 163, 103, 172, 173
    ]
  },
  arm64: {
    audit: 0xc00000b7,
    highest: 0x40000000,
    clone: 220,
    denied: [
      117, 270, 271, 40, 39, 41, 51, 97, 268, 280, 241, 219, 217, 218, 104, 294, 105, 273, 106, 282, 142, 224, 225, 264,
      265, 60, 89, 116
    ]
  }
}

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const namespaceFlags = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000

const load = 0x20 // BPF_LD | BPF_W | BPF_ABS
const jumpEqual = 0x15
const jumpAtLeast = 0x35
const jumpAnyBit = 0x45
const answer = 0x06
const numberOffset = 0
const architectureOffset = 4
const firstArgumentOffset = 16

const allow = 0x7fff0000
const killProcess = 0x80000000
const refuse = (errno: number) => 0x00050000 | errno
const EPERM = 1
const ENOSYS = 38

/** The filter as `struct sock_filter[]` in memory order; none for an architecture whose call numbers are not listed. */
export const seccompFilter = (architecture: NodeJS.Architecture): Buffer | undefined => {
  const known = architectures[architecture]
  if (known === undefined) return undefined
  type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number]
  const program: Array<Instruction> = [
    [load, 0, 0, architectureOffset],
    [jumpEqual, 1, 0, known.audit],
    [answer, 0, 0, killProcess],
    [load, 0, 0, numberOffset],
    [jumpAtLeast, 0, 1, known.highest],
    [answer, 0, 0, refuse(EPERM)],
    // Its flags stand behind a pointer that a filter cannot follow; libc falls back to clone.
    [jumpEqual, 0, 1, clone3],
    [answer, 0, 0, refuse(ENOSYS)],
    ...[...known.denied, ...sharedDenied].flatMap((number): ReadonlyArray<Instruction> => [
      [jumpEqual, 0, 1, number],
      [answer, 0, 0, refuse(EPERM)]
    ]),
    [jumpEqual, 0, 3, known.clone],
    [load, 0, 0, firstArgumentOffset],
    [jumpAnyBit, 0, 1, namespaceFlags],
    [answer, 0, 0, refuse(EPERM)],
    [answer, 0, 0, allow]
  ]
  const bytes = Buffer.alloc(program.length * 8)
  program.forEach(([code, ifTrue, ifFalse, value], index) => {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(ifTrue, index * 8 + 2)
    bytes.writeUInt8(ifFalse, index * 8 + 3)
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4)
  })
  return bytes
}
