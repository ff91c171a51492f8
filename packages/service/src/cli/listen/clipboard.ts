import { spawn } from 'node:child_process'
import { findProgram } from 'rxspeech/internal/microphone/find-program'
import { CommandError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import type { ScreenStream } from '../view/live-screen.js'

/** Copies a text; `name` says how. */
export interface Clipboard {
  readonly name: string
  /** Rejects with a `CommandError`. */
  readonly copy: (text: string) => Promise<void>
}

interface CopyProgram {
  readonly command: readonly [name: string, ...args: string[]]
  /** Whether there can be a clipboard behind it. */
  readonly isUsable: (env: Host['env'], platform: NodeJS.Platform) => boolean
}

const isRemote = (env: Host['env']): boolean => (env['SSH_CONNECTION'] ?? env['SSH_TTY'] ?? '') !== ''
const isSet = (env: Host['env'], name: string): boolean => (env[name] ?? '') !== ''

const copyPrograms: readonly CopyProgram[] = [
  { command: ['pbcopy'], isUsable: (env, platform) => platform === 'darwin' && !isRemote(env) },
  { command: ['wl-copy'], isUsable: (env) => isSet(env, 'WAYLAND_DISPLAY') && !isRemote(env) },
  { command: ['xclip', '-selection', 'clipboard'], isUsable: (env) => isSet(env, 'DISPLAY') && !isRemote(env) },
  { command: ['xsel', '--clipboard', '--input'], isUsable: (env) => isSet(env, 'DISPLAY') && !isRemote(env) },
  {
    command: ['clip.exe'],
    isUsable: (env, platform) => (platform === 'win32' || isSet(env, 'WSL_DISTRO_NAME')) && !isRemote(env),
  },
  // tmux passes it to the terminal around it.
  { command: ['tmux', 'load-buffer', '-w', '-'], isUsable: (env) => isSet(env, 'TMUX') },
]

/** How long a program has for a text. */
const copyMs = 5_000
/** What terminals accept in a sequence. */
const maxTerminalBytes = 74_000

/**
 * The clipboard of this machine by the first program that has one, else that of the terminal by its sequence OSC 52,
 * which also works over ssh. Undefined without both.
 */
export const findClipboard = (
  env: Host['env'],
  terminal: ScreenStream,
  platform: NodeJS.Platform = process.platform,
): Clipboard | undefined => {
  for (const { command, isUsable } of copyPrograms) {
    const [name, ...args] = command
    const program = isUsable(env, platform) ? findProgram(name, env, platform) : undefined
    if (program !== undefined) return { name, copy: (text) => copyWith(name, program, args, text) }
  }
  return terminal.isTTY === true && env['TERM'] !== 'dumb'
    ? { name: 'the terminal', copy: (text) => copyToTerminal(text, terminal) }
    : undefined
}

/** `clip.exe` reads UTF-16 with its mark. */
const encoded = (name: string, text: string): Buffer =>
  name === 'clip.exe' ? Buffer.from(`\ufeff${text}`, 'utf16le') : Buffer.from(text)

const copyWith = (name: string, program: string, args: readonly string[], text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    // xclip stays in the background and keeps what it inherits.
    const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'ignore'], timeout: copyMs, windowsHide: true })
    const fail = (reason: string): void =>
      reject(new CommandError(`The transcript was not copied: ${name} ${reason}; use --output FILE.`))
    child.on('error', () => fail('cannot be started'))
    child.on('exit', (code) => {
      if (code === 0) resolve()
      else fail(code === null ? 'did not end in time' : `failed with exit code ${code}`)
    })
    child.stdin.on('error', () => undefined)
    child.stdin.end(encoded(name, text))
  })

const copyToTerminal = (text: string, terminal: ScreenStream): Promise<void> => {
  const base64 = Buffer.from(text).toString('base64')
  if (base64.length > maxTerminalBytes) {
    return Promise.reject(
      new CommandError('The transcript is too long for the clipboard of a terminal; use --output FILE.'),
    )
  }
  terminal.write(`\u001b]52;c;${base64}\u0007`)
  return Promise.resolve()
}
