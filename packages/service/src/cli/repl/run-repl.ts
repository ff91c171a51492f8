import { createReadStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { type REPLServer, start } from 'node:repl'
import { PassThrough } from 'node:stream'
import { inspect } from 'node:util'
import * as rxjs from 'rxjs'
import * as rxspeech from 'rxspeech'
import * as audio from 'rxspeech/audio'
import * as captions from 'rxspeech/captions'
import * as microphone from 'rxspeech/microphone'
import { type AudioFormat, msForBytes } from 'rxspeech/internal/audio/format'
import { readWav } from 'rxspeech/internal/audio/read-wav'
import { type InMemoryService, inMemoryService } from '../../testing/in-memory-service.js'
import { scriptedEngine } from '../../testing/scripted-engine.js'
import { unreadable } from '../input/byte-source.js'
import { modelNames } from '../input/find-models.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { embeddedModel, packageModels } from '../process/package-files.js'
import { replHistory } from '../process/user-folders.js'
import { paintFor } from '../view/paint.js'
import { eventText } from './event-text.js'

export interface ReplPlan {
  /** The recording of `sample`. */
  readonly file: string
  /** @default the embedded model, or the only one of the folders */
  readonly model?: string | undefined
  /** Folders of models. @default those of the user and of the package */
  readonly models: readonly string[]
}

/** A recording, as a source of sessions. */
interface Sample {
  readonly file: string
  readonly format: AudioFormat
  readonly durationMs: number
  /** Its audio, as fast as it is taken; again for each subscription. */
  readonly audio$: rxjs.Observable<Uint8Array>
}

/** Runs until the input ends. The service and its sessions are closed then. */
export const runRepl = async ({ file, model, models }: ReplPlan, host: Host): Promise<void> => {
  const sample = await readSample(file)
  const names = modelNames(models, host)
  const defaultModel = model ?? (models.length === 0 ? embeddedModel.name : names[0])
  if (defaultModel === undefined || !names.includes(defaultModel)) {
    throw usageError(`There is no model ${String(defaultModel)}; choose one of ${names.join(', ')} with --model.`)
  }
  const service = inMemoryService({ modelFolders: [...models, ...packageModels()], defaultModel })
  try {
    await converse(sample, service, host)
  } finally {
    await service.close()
  }
}

const readSample = async (file: string): Promise<Sample> => {
  const stream = createReadStream(file).on('error', () => undefined)
  try {
    const { format, audio } = await readWav(stream)
    const pieces: Uint8Array[] = []
    for await (const piece of audio) pieces.push(piece)
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
    return { file, format, durationMs: Math.round(msForBytes(format, bytes)), audio$: rxjs.from(pieces) }
  } catch (error) {
    throw error instanceof rxspeech.SpeechError ? error : unreadable(file, error)
  }
}

/** What can be typed without an import. */
const scopeOf = (sample: Sample, service: InMemoryService, show: rxjs.Observer<unknown>): Record<string, unknown> => ({
  ...rxjs,
  ...rxspeech,
  ...audio,
  ...captions,
  ...microphone,
  inMemoryService,
  scriptedEngine,
  sample,
  service,
  options: service.recognizer({ format: sample.format }),
  show,
})

const converse = async (sample: Sample, service: InMemoryService, host: Host): Promise<void> => {
  const { stdin, stdout } = host
  const paint = paintFor(stdout, host.env)
  const isTerminal = stdin.isTTY && stdout.isTTY
  if (isTerminal) stdout.write(banner(sample, paint))
  const lines = new PassThrough()
  const server = start({
    prompt: isTerminal ? 'rxspeech> ' : '',
    input: isTerminal ? stdin : lines,
    output: stdout,
    terminal: isTerminal,
    ignoreUndefined: true,
    writer: shortly(isTerminal),
  })
  let isEnded = false
  let isCutOff = false
  const print = (line: string): void => {
    if (!isEnded) printAbove(server, line, isTerminal)
    // At a terminal the session ends only when it was told to.
    else if (!isTerminal && !isCutOff) {
      isCutOff = true
      host.stderr.write(cutOff)
    }
  }
  Object.assign(server.context, scopeOf(sample, service, observer(print)))
  const ended = new Promise<void>((resolve) => server.once('exit', resolve))
  server.once('exit', () => (isEnded = true))
  const history = isTerminal ? replHistory(host.env) : undefined
  if (history !== undefined) await keepHistory(server, history)
  if (!isTerminal) await evaluateInTurn(server, stdin, lines)
  await ended
}

const cutOff =
  'rxspeech: the input ended while a subscription still ran, so the rest of its events is missing; wait for its end, as with await lastValueFrom(…).\n'

/** Passes on each line when the one before is evaluated, for which a session without a terminal does not wait. */
const evaluateInTurn = async (server: REPLServer, stdin: NodeJS.ReadableStream, lines: PassThrough): Promise<void> => {
  let evaluated = (): void => undefined
  let isEnded = false
  const displayPrompt = server.displayPrompt.bind(server)
  // After each evaluation, also one that failed, the session asks for the next line.
  server.displayPrompt = (keepsCursor) => {
    displayPrompt(keepsCursor)
    evaluated()
  }
  server.once('exit', () => {
    isEnded = true
    evaluated()
  })
  for await (const line of createInterface({ input: stdin })) {
    const evaluation = new Promise<void>((resolve) => {
      evaluated = resolve
    })
    lines.write(`${line}\n`)
    await evaluation
    if (isEnded) return
  }
  lines.end()
}

const keepHistory = async (server: REPLServer, file: string): Promise<void> => {
  // Without it only the history is missing.
  const made = await mkdir(dirname(file), { recursive: true, mode: 0o700 }).then(
    () => true,
    () => false,
  )
  if (made) await new Promise<void>((resolve) => server.setupHistory(file, () => resolve()))
}

/** Prints a line above the one that is typed. */
const printAbove = (server: REPLServer, line: string, isTerminal: boolean): void => {
  server.output.write(isTerminal ? `\r\u001b[J${line}\n` : `${line}\n`)
  if (isTerminal) server.displayPrompt(true)
}

/** Results as Node shows them, but no inner parts of RxJS. */
const shortly =
  (colors: boolean) =>
  (value: unknown): string => {
    if (value instanceof rxjs.Subscription) return `Subscription (${value.closed ? 'closed' : 'open'})`
    if (rxjs.isObservable(value)) return 'Observable'
    return inspect(value, { colors, depth: 3 })
  }

/** An observer that prints one line for each event. */
const observer = (print: (line: string) => void): rxjs.Observer<unknown> => ({
  next: (value) => print(eventText(value)),
  error: (error: unknown) =>
    print(`error     ${error instanceof rxspeech.SpeechError ? `${error.code}: ${error.message}` : String(error)}`),
  complete: () => print('complete'),
})

const banner = ({ format, durationMs }: Sample, paint: ReturnType<typeof paintFor>): string => `\
${paint('bold', 'sample')} is ${(durationMs / 1000).toFixed(0)} s of ${format.channels === 1 ? 'mono' : 'stereo'} speech, ${paint('bold', 'service')} a service in this process, ${paint('bold', 'options')} those of its sessions.
All of rxjs and rxspeech is at hand, await works, .exit ends. To begin:

  recognize(options)(sample.audio$).subscribe(show)
  (await lastValueFrom(recognize(options)(sample.audio$).pipe(transcript()))).text

`
