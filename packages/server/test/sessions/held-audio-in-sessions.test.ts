import { either } from 'fp-ts'
import { describe, expect, it } from 'vitest'
import { recognizer } from '../../src/nodes/speech/recognizer.js'
import { contentType } from '../../../../src/protocol/dataflow-messages.js'
import { createVoiceDetector } from '../../src/recognition/voice-activity/voice-detector.js'
import { connectDataflow, finalize, start } from '../dataflow/dataflow-connection.js'
import {
  connectRecognizer,
  countedEngine,
  finalizeRecognition,
  parsed,
  recognize,
} from '../recognizer/recognizer-connection.js'
import { flushPromises, type VirtualClock } from '../../../service/test/virtual-clock.js'
import { spoken } from './spoken.js'

interface RunningSession {
  readonly clock: VirtualClock
  readonly send: (audio: Uint8Array) => void
  readonly finalize: () => void
  /** The results since the last call: `milestone 1500` with its end, and `final 1500`. */
  readonly results: () => Promise<readonly string[]>
}

const overSocket = async (): Promise<RunningSession> => {
  const connection = connectRecognizer(() => Promise.resolve(countedEngine()))
  connection.send(recognize())
  await flushPromises()
  connection.received.splice(0)
  return {
    clock: connection.clock,
    send: (audio) => connection.send(audio),
    finalize: () => connection.send(finalizeRecognition),
    results: async () => {
      await flushPromises()
      return connection.received
        .splice(0)
        .map(parsed)
        .filter(({ 'message-name': name }) => name === 'milestone-result' || name === 'final-result')
        .map((json) => `${json['message-name']?.replace('-result', '') ?? ''} ${json['end-msec'] ?? ''}`)
    },
  }
}

const overStream = async (): Promise<RunningSession> => {
  const configured = recognizer.configure({})
  if (either.isLeft(configured)) throw new Error('The options are refused.')
  const connection = connectDataflow((context) =>
    configured.right.open({ ...context, engine: () => Promise.resolve(countedEngine()) }),
  )
  connection.send(start())
  await flushPromises()
  connection.received.splice(0)
  return {
    clock: connection.clock,
    send: (binaryContent) => connection.send({ contentType: contentType.audio, content: '', binaryContent }),
    finalize: () => connection.send(finalize),
    results: async () => {
      await flushPromises()
      return connection.received
        .splice(0)
        .filter(({ contentType: type }) => type === contentType.event)
        .map(({ content }) => JSON.parse(content) as Readonly<Record<string, unknown>>)
        .filter(({ Name }) => Name === 'SR Milestone' || Name === 'SR Final')
        .map(({ Name, EndMsec }) => `${String(Name).slice(3).toLowerCase()} ${String(EndMsec)}`)
    },
  }
}

/** Sends audio in real time: each message when its last sample is spoken. */
const sendInTime = ({ clock, send }: RunningSession, audio: Uint8Array, messageMs = 20): void => {
  const fromMs = clock.now()
  for (let endMs = messageMs; endMs * 16 <= audio.length; endMs += messageMs) {
    clock.advanceTo(fromMs + endMs)
    send(audio.slice((endMs - messageMs) * 16, endMs * 16))
  }
}

describe.each([
  ['a recognition socket', overSocket],
  ['a dataflow stream', overStream],
] as const)('audio that waits for more, over %s', (_name, connectTo) => {
  const open = async (): Promise<RunningSession> => {
    // Loads its module, so that the detector of the recognition is ready without a delay.
    const detector = await createVoiceDetector({ sampleRateHz: 8000, sensitivity: 5 })
    detector.free()
    return connectTo()
  }

  it('counts when it arrived: the segment is closed a second after it, and contains it', async () => {
    // 520 ms to 3430 ms are speech.
    for (const durationMs of [1_460, 1_480, 1_500]) {
      const session = await open()
      sendInTime(session, await spoken(durationMs))
      session.clock.advanceTo(durationMs + 1_019)
      expect(await session.results()).toEqual([])
      session.clock.advanceTo(durationMs + 1_020)
      expect(await session.results()).toEqual([`milestone ${durationMs}`])
    }
  })

  it('belongs to the session that is finalized', async () => {
    for (const durationMs of [20, 40, 60, 80, 100, 1_480]) {
      const session = await open()
      sendInTime(session, await spoken(durationMs))
      session.finalize()
      expect((await session.results()).at(-1)).toBe(`final ${durationMs}`)
    }
  })

  it('keeps the session from being idle', async () => {
    for (const durationMs of [200, 220, 240]) {
      const session = await open()
      sendInTime(session, new Uint8Array(durationMs * 16))
      session.clock.advanceTo(durationMs + 29_999)
      expect(await session.results()).toEqual([])
      session.clock.advanceTo(durationMs + 30_000)
      expect(await session.results(), String(durationMs)).toEqual([`final ${durationMs}`])
    }
  })

  it('changes no result, and none of their times, whatever the length of messages', async () => {
    const audio = await spoken(4_200)
    for (const messageMs of [10, 20, 30, 50, 70, 200, 1_400]) {
      const session = await open()
      const results: (string | number)[] = []
      for (let endMs = messageMs; endMs <= 4_200; endMs += messageMs) {
        sendInTime(session, audio.subarray((endMs - messageMs) * 16, endMs * 16), messageMs)
        for (const result of await session.results()) results.push(result, endMs)
      }
      expect(results).toEqual(['milestone 3430', Math.ceil(3_430 / messageMs) * messageMs])
    }
  })
})
