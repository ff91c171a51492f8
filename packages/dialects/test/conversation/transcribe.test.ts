import { describe, expect, it } from 'vitest'
import type { Conversation, DialectClient } from '../../../server/src/listen/dialect.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { readRecognizerRequest, writeRecognizerMessage } from '../../../../src/protocol/recognizer-messages.js'
import type { SocketMessage } from '../../../../src/transport/link.js'
import { memoryLinks } from '../../../../src/transport/memory/link.js'
import type { Recording } from '../../src/conversation/recording.js'
import { transcribe } from '../../src/conversation/transcribe.js'

const request = { modelName: 'm' }

/** Two seconds of each channel. */
async function* seconds(channelCount: number): AsyncGenerator<readonly Int16Array[], undefined> {
  for (let second = 0; second < 2; second += 1) {
    yield await Promise.resolve(Array.from({ length: channelCount }, () => new Int16Array(8000)))
  }
}

const recording = (channelCount: 1 | 2 = 1, audio = seconds(channelCount)): Recording => ({
  sampleRateHz: 8000,
  channelCount,
  audio,
})

/** A client whose conversations are these. */
const clientOf = (...conversations: Conversation[]): Pick<DialectClient, 'converse'> => ({
  converse: () => {
    const next = conversations.shift()
    return next === undefined
      ? Promise.reject(new SpeechError('overloaded', 'There is no place.'))
      : Promise.resolve(next)
  },
})

interface Script {
  readonly refusal?: string
  readonly heardMs?: number
  /** The number of the message after which the recognition ends by itself. */
  readonly endsAt?: number
  readonly startMs?: number
}

/** The recognizer's end of a conversation, which answers as the script says. */
const opened = ({ refusal = 'Success', heardMs = 2000, endsAt = 0, startMs = 0 }: Script = {}) => {
  const [near, far] = memoryLinks<SocketMessage, SocketMessage>()
  const received: string[] = []
  const final = (): void => {
    const place = { text: '', channel: 0, startMs, endMs: 2000 }
    far.send(writeRecognizerMessage({ message: 'milestone-result', ...place, text: 'hello' }))
    far.send(writeRecognizerMessage({ message: 'final-result', operationResult: 'Success', heardMs, ...place }))
  }
  far.incoming$.subscribe({
    next: (message) => {
      const read = typeof message === 'string' ? readRecognizerRequest(message) : undefined
      const name = read?._tag === 'Right' ? read.right.request : 'audio'
      received.push(name)
      if (name === 'recognize')
        far.send(writeRecognizerMessage({ message: 'recognize-response', operationResult: refusal }))
      if (name === 'finalize-recognition' || received.length === endsAt) final()
    },
    complete: () => received.push('closed'),
  })
  return { near, far, received }
}

describe('a recording in a conversation', () => {
  it('is sent as a whole, and the conversation is closed with its result', async () => {
    const { near, received } = opened()
    const { milestones, durationMs } = await transcribe(clientOf(near), request, recording())
    expect(milestones.map(({ text }) => text)).toEqual(['hello'])
    expect(durationMs).toBe(2000)
    expect(received).toEqual(['recognize', 'audio', 'audio', 'finalize-recognition', 'closed'])
  })

  it('has each channel in a conversation of its own, and the texts of both by their start', async () => {
    const [left, right] = [opened({ startMs: 700 }), opened({ startMs: 100 })]
    const heard: number[] = []
    const { milestones } = await transcribe(clientOf(left.near, right.near), request, recording(2), {
      milestone: ({ channel }) => heard.push(channel),
    })
    expect(milestones.map(({ channel, startMs }) => [channel, startMs])).toEqual([
      [1, 100],
      [0, 700],
    ])
    expect(heard).toEqual([0, 1])
    for (const { received } of [left, right])
      expect(received).toEqual(['recognize', 'audio', 'audio', 'finalize-recognition', 'closed'])
  })

  it('is refused, and closed, if there is no place for its second channel', async () => {
    const { near, received } = opened()
    const audio = seconds(2)
    await expect(transcribe(clientOf(near), request, recording(2, audio))).rejects.toMatchObject({ code: 'overloaded' })
    expect(received).toEqual(['recognize', 'closed'])
    expect(await audio.next()).toEqual({ done: true, value: undefined })
  })

  it('is refused as the service refuses it', async () => {
    const { near, received } = opened({ refusal: 'invalid-field: The model has no language de.' })
    await expect(transcribe(clientOf(near), request, recording())).rejects.toMatchObject({ code: 'invalid-field' })
    expect(received.at(-1)).toBe('closed')
  })

  it.each([
    ['ends before its end', { endsAt: 2 }],
    ['has not heard its end', { heardMs: 1500 }],
  ])('is not passed off as a whole if the recognition %s', async (_case, script) => {
    await expect(transcribe(clientOf(opened(script).near), request, recording())).rejects.toMatchObject({
      code: 'going-away',
    })
  })

  it('fails with the error of the audio, and of a link that is closed', async () => {
    async function* broken(): AsyncGenerator<readonly Int16Array[], undefined> {
      yield await Promise.resolve([new Int16Array(1)])
      throw new Error('cut')
    }
    const first = opened()
    await expect(transcribe(clientOf(first.near), request, recording(1, broken()))).rejects.toThrow('cut')
    expect(first.received.at(-1)).toBe('closed')
    const second = opened()
    second.far.close({ code: 'overloaded', message: 'full' })
    await expect(transcribe(clientOf(second.near), request, recording())).rejects.toMatchObject({ code: 'overloaded' })
  })
})
