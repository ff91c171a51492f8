import { concat, EMPTY, finalize, ignoreElements, Subject, type Observable } from 'rxjs'
import { expect } from 'vitest'
import { serveRecognizer } from '../../../src/service/recognizer/session.js'
import type { SessionLimits } from '../../../src/service/sessions/session-context.js'
import type { Engine } from '../../../src/service/engines/engine.js'
import { createVoiceDetector } from '../../../src/service/recognition/voice-activity/voice-detector.js'
import type { SessionWatch } from '../../../src/service/monitor/session-watch.js'
import { scriptedEngine } from '../../../src/testing/scripted-engine.js'
import type { SocketMessage } from '../../../src/transport/link.js'
import { turn } from '../virtual-clock.js'
import { everyRight, oneModel, stage, talk, type Stage, type Talk } from '../sessions/talk.js'

export interface CountedEngine extends Engine {
  /** Recognitions that live. */
  readonly running: () => number
}

/** Says `hello world` for every segment, and ends no recognition before `gate$` completes. */
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

/** A message in a few words: `recognize: Success`, `final-result: Success "hello world"`, `partial-result "hello"`. */
export const brief = (message: SocketMessage): string => {
  const { 'message-name': name = '?', 'operation-result': result, text } = parsed(message)
  const end = result === undefined ? '' : `: ${result.replace(/: .*/s, '')}`
  return `${name.replace('-response', '')}${end}${text === undefined ? '' : ` "${text}"`}`
}

export interface RecognizerTalk extends Stage, Talk<SocketMessage> {
  readonly say: (...messages: readonly SocketMessage[]) => void
  /** All that was heard since the last call. */
  readonly since: () => readonly string[]
}

export const recognizerTalk = (
  open: () => Promise<Engine>,
  limits: Partial<SessionLimits> = {},
  modelOfAddress?: string,
  watch?: SessionWatch,
): RecognizerTalk => {
  const set = stage(oneModel(open), limits)
  const terms = {
    ...set.terms,
    rights: everyRight,
    ended$: set.ended$,
    ...(modelOfAddress === undefined ? {} : { modelOfAddress }),
    ...(watch === undefined ? {} : { watch }),
  }
  const one = talk<SocketMessage>(set.clock, (incoming$, link) => serveRecognizer(incoming$, link, terms))
  return {
    ...set,
    ...one,
    say: (...messages) => {
      for (const message of messages) one.client.send(message)
    },
    since: () => one.heard.splice(0).map(brief),
  }
}

export const states = ['opened', 'running', 'flushing', 'idle'] as const
export type State = (typeof states)[number]

export interface Scene extends RecognizerTalk {
  readonly engine: CountedEngine
  readonly gate$: Subject<undefined>
}

/** A talk that has come to a state, its answers until then taken. */
export const inState = async (state: State, limits?: Parameters<typeof recognizerTalk>[1]): Promise<Scene> => {
  const gate$ = new Subject<undefined>()
  const engine = countedEngine(gate$)
  // Loads its module, so that the detector of the recognition is ready within a turn.
  const detector = await createVoiceDetector({ sampleRateHz: 8000, sensitivity: 5 })
  detector.free()
  const one = recognizerTalk(() => Promise.resolve(engine), limits)
  if (state !== 'opened') {
    one.say(recognize())
    expect(brief(await one.hear())).toBe('recognize: Success')
    if (state === 'flushing') one.say(finalizeRecognition)
    if (state === 'idle') one.say(stopRecognition)
    await turn()
    one.since()
  }
  return { ...one, engine, gate$ }
}

/** Recognitions, timers and subscriptions are all given back. */
export const nothingLeft = ({ clock, drain$ }: RecognizerTalk, engine?: CountedEngine): void => {
  expect({ running: engine?.running() ?? 0, timers: clock.waiting, waitingForDrain: drain$.observed }).toEqual({
    running: 0,
    timers: 0,
    waitingForDrain: false,
  })
}

/** The connection of a client breaks. */
export const vanish = ({ client }: RecognizerTalk): void => {
  client.close({ code: 'connection-lost', message: 'Gone.' })
}

/** All that is heard, to the final. */
export const untilFinal = async (one: RecognizerTalk): Promise<readonly SocketMessage[]> => {
  const heard: SocketMessage[] = []
  do heard.push(await one.hear())
  while (!String(heard.at(-1)).includes('final-result'))
  return heard
}
