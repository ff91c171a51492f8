import { concat, EMPTY, finalize, ignoreElements, Subject, type Observable } from 'rxjs'
import { expect } from 'vitest'
import { serveRecognizer } from '../../src/recognizer/session.js'
import type { SessionLimits } from '../../src/sessions/session-context.js'
import type { Engine } from '../../../engines/src/engine.js'
import { createVoiceDetector } from '../../src/recognition/voice-activity/voice-detector.js'
import { watchConversation, type SessionWatch } from '../../src/monitor/session-watch.js'
import { scriptedEngine } from '../../../service/src/testing/scripted-engine.js'
import type { SocketMessage } from '../../../../src/transport/link.js'
import { flushPromises } from '../../../service/test/virtual-clock.js'
import { everyRight, oneModel, stage, connect, type Stage, type TestConnection } from '../sessions/test-connection.js'

export interface CountedEngine extends Engine {
  /** Running recognitions. */
  readonly running: () => number
}

/** Returns `hello world` for every segment, and ends no recognition before `gate$` completes. */
export const countedEngine = (gate$: Observable<unknown> = EMPTY): CountedEngine => {
  const engine = scriptedEngine({ texts: ['hello world'] })
  let running = 0
  return {
    ...engine,
    recognize: () => {
      running += 1
      const operator = engine.recognize()
      return (part$) =>
        concat(operator(part$), gate$.pipe(ignoreElements())).pipe(
          finalize(() => {
            running -= 1
          }),
        )
    },
    running: () => running,
  }
}

export const recognize = (change: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({
    'message-name': 'recognize',
    'audio-format': 'pcm',
    'sample-rate': 8000,
    'model-name': 'm',
    'vad-graceful-silence-threshold-msec': 0,
    ...change,
  })
export const finalizeRecognition = '{"message-name":"finalize-recognition"}'
export const stopRecognition = '{"message-name":"stop-recognition"}'

export type Json = Readonly<Record<string, string>>
export const parsed = (message: SocketMessage): Json => JSON.parse(String(message)) as Json

/** A message in short form: `recognize: Success`, `final-result: Success "hello world"`, `partial-result "hello"`. */
export const brief = (message: SocketMessage): string => {
  const { 'message-name': name = '?', 'operation-result': result, text } = parsed(message)
  const end = result === undefined ? '' : `: ${result.replace(/: .*/s, '')}`
  return `${name.replace('-response', '')}${end}${text === undefined ? '' : ` "${text}"`}`
}

export interface RecognizerConnection extends Stage, TestConnection<SocketMessage> {
  readonly send: (...messages: readonly SocketMessage[]) => void
  /** All messages since the last call, in short form. */
  readonly since: () => readonly string[]
}

export const connectRecognizer = (
  open: () => Promise<Engine>,
  limits: Partial<SessionLimits> = {},
  modelOfAddress?: string,
  watch?: SessionWatch,
): RecognizerConnection => {
  const set = stage(oneModel(open), limits)
  const context = {
    ...set.context,
    rights: everyRight,
    ended$: set.ended$,
    ...(modelOfAddress === undefined ? {} : { modelOfAddress }),
    ...(watch === undefined ? {} : { watch }),
  }
  const connection = connect<SocketMessage>(set.clock, (incoming$, link) => {
    const outgoing$ = serveRecognizer(incoming$, link, context)
    return watch === undefined ? outgoing$ : outgoing$.pipe(watchConversation(watch))
  })
  return {
    ...set,
    ...connection,
    send: (...messages) => {
      for (const message of messages) connection.client.send(message)
    },
    since: () => connection.received.splice(0).map(brief),
  }
}

export const states = ['opened', 'running', 'flushing', 'idle'] as const
export type State = (typeof states)[number]

export interface RecognizerInState extends RecognizerConnection {
  readonly engine: CountedEngine
  readonly gate$: Subject<undefined>
}

/** A connection in the given state, with its responses until then removed. */
export const inState = async (
  state: State,
  limits?: Parameters<typeof connectRecognizer>[1],
): Promise<RecognizerInState> => {
  const gate$ = new Subject<undefined>()
  const engine = countedEngine(gate$)
  // Loads its module, so that the detector of the recognition is ready without a delay.
  const detector = await createVoiceDetector({ sampleRateHz: 8000, sensitivity: 5 })
  detector.free()
  const connection = connectRecognizer(() => Promise.resolve(engine), limits)
  if (state !== 'opened') {
    connection.send(recognize())
    expect(brief(await connection.receive())).toBe('recognize: Success')
    if (state === 'flushing') connection.send(finalizeRecognition)
    if (state === 'idle') connection.send(stopRecognition)
    await flushPromises()
    connection.since()
  }
  return { ...connection, engine, gate$ }
}

/** Recognitions, timers and subscriptions are all released. */
export const nothingLeft = ({ clock, drain$ }: RecognizerConnection, engine?: CountedEngine): void => {
  expect({ running: engine?.running() ?? 0, timers: clock.waiting, waitingForDrain: drain$.observed }).toEqual({
    running: 0,
    timers: 0,
    waitingForDrain: false,
  })
}

/** The connection of a client breaks. */
export const vanish = ({ client }: RecognizerConnection): void => {
  client.close({ code: 'connection-lost', message: 'Gone.' })
}

/** All messages up to and including the final. */
export const untilFinal = async (connection: RecognizerConnection): Promise<readonly SocketMessage[]> => {
  const received: SocketMessage[] = []
  do received.push(await connection.receive())
  while (!String(received.at(-1)).includes('final-result'))
  return received
}
