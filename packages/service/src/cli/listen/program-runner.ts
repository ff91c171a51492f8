import { spawn, type ChildProcess } from 'node:child_process'
import { basename } from 'node:path'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
import { plainText } from '../view/plain-text.js'
import type { ProgramCall } from './spoken-command.js'

/** How many programs run at the same time, and how many wait for their turn. */
const maxRunning = 4
const maxWaiting = 16
/** How much of the output of one run is shown, and how long a line is. */
const maxOutputLines = 200
const maxLineLength = 2000
/** How long programs have to end by themselves when the command ends, and then after the signal. */
const endMs = 2_000
/** How long after its end the rest of its output is read. */
const outputMs = 200

/** Runs the programs of spoken sentences: a bounded number at once, without a shell and without input. */
export class ProgramRunner {
  readonly #note: (line: string) => void
  readonly #running = new Set<ChildProcess>()
  #waiting: readonly ProgramCall[] = []
  #isEnded = false
  #whenIdle: (() => void) | undefined

  /** @param note shows a line */
  constructor(note: (line: string) => void) {
    this.#note = note
  }

  run(call: ProgramCall): void {
    const { program, refusal } = call
    if (refusal !== undefined) this.#note(`rxspeech: ${nameOf(program)} was not run: ${refusal}.`)
    else if (this.#running.size < maxRunning) this.#start(call)
    else if (this.#waiting.length < maxWaiting) this.#waiting = [...this.#waiting, call]
    else this.#note(`rxspeech: ${nameOf(program)} was not run: ${maxRunning} programs run and ${maxWaiting} wait.`)
  }

  /** Waits a moment for running programs, then ends them. No other one is started. */
  async end(): Promise<void> {
    await this.#idleWithin(endMs)
    this.#isEnded = true
    if (this.#running.size === 0) return
    const names = [...this.#running].map(({ spawnfile }) => nameOf(spawnfile)).join(', ')
    this.#note(`rxspeech: ended ${names}, which ran still.`)
    for (const child of this.#running) child.kill()
    await this.#idleWithin(endMs)
    this.kill()
  }

  /** Ends running programs at once. */
  kill(): void {
    this.#isEnded = true
    for (const child of this.#running) child.kill('SIGKILL')
  }

  async #idleWithin(ms: number): Promise<void> {
    if (this.#running.size === 0) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve
      timer = setTimeout(resolve, ms)
    })
    clearTimeout(timer)
    this.#whenIdle = undefined
  }

  #start({ program, args }: ProgramCall): void {
    const name = nameOf(program)
    const lines = new OutputLines((line) => this.#note(`${name}: ${line}`))
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true })
    this.#running.add(child)
    const writers = [child.stdout, child.stderr].map((stream) => {
      const writer = lines.open()
      stream.setEncoding('utf8').on('data', writer.write)
      return writer
    })
    child.on('error', (error) => {
      this.#note(`rxspeech: ${name} cannot be started (${codeOf(error) ?? 'unknown'}); check the program.`)
      this.#ended(child)
    })
    const ended = (code: number | null, signal: NodeJS.Signals | null): void => {
      clearTimeout(late)
      if (!this.#running.has(child)) return
      for (const { end } of writers) end()
      if (code !== 0 && !this.#isEnded) {
        const how = code === null ? `by ${String(signal)}` : `with exit code ${code}`
        this.#note(`rxspeech: ${name} failed ${how}.`)
      }
      this.#ended(child)
    }
    let late: NodeJS.Timeout | undefined
    child.on('close', ended)
    // A program that it has left in the background may keep the output open.
    child.on('exit', (code, signal) => {
      late = setTimeout(() => ended(code, signal), outputMs)
    })
  }

  #ended(child: ChildProcess): void {
    if (!this.#running.delete(child)) return
    const [next, ...rest] = this.#waiting
    this.#waiting = rest
    if (next !== undefined && !this.#isEnded) this.#start(next)
    else if (this.#running.size === 0) this.#whenIdle?.()
  }
}

const nameOf = (program: string): string => plainText(basename(program))

/** The lines of the outputs of a program, as many as the bounds allow. */
class OutputLines {
  readonly #show: (line: string) => void
  #count = 0

  constructor(show: (line: string) => void) {
    this.#show = show
  }

  /** One of the outputs, whose last line may have no end. */
  open(): { readonly write: (text: string) => void; readonly end: () => void } {
    let line = ''
    return {
      write: (text) => {
        const [first = '', ...more] = text.split('\n')
        line = (line + first).slice(0, maxLineLength)
        for (const next of more) {
          this.#take(line)
          line = next.slice(0, maxLineLength)
        }
      },
      end: () => {
        this.#take(line)
        line = ''
      },
    }
  }

  #take(line: string): void {
    const shown = plainText(line)
    if (shown === '') return
    this.#count += 1
    if (this.#count <= maxOutputLines) this.#show(shown)
    if (this.#count === maxOutputLines + 1) this.#show('… and more, which is not shown')
  }
}
