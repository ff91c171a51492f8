import { describe, expect, it } from 'vitest'
import { readRecognizerRequest, writeRecognizerMessage } from '../../../../src/protocol/recognizer-messages.js'
import type { SocketMessage } from '../../../../src/transport/link.js'
import { memoryLinks } from '../../../../src/transport/memory/link.js'
import { transcribe } from '../../src/conversation/transcribe.js'

const request = { audioFormat: 'pcm', modelName: 'm', sampleRateHz: 8000 } as const

/** Two seconds. */
async function* audio(): AsyncGenerator<Uint8Array, undefined> {
  for (let second = 0; second < 2; second += 1) yield await Promise.resolve(new Uint8Array(16_000))
}

interface Script {
  readonly refusal?: string
  readonly heardMs?: number
  /** The number of the message after which the recognition ends by itself. */
  readonly endsAt?: number
}

/** The recognizer's end of a conversation, which answers as the script says. */
const opened = ({ refusal = 'Success', heardMs = 2000, endsAt = 0 }: Script = {}) => {
  const [near, far] = memoryLinks<SocketMessage, SocketMessage>()
  const received: string[] = []
  const final = (): void => {
    const place = { text: '', channel: 0, startMs: 0, endMs: 2000 }
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
    const { milestones, durationMs } = await transcribe(near, request, audio())
    expect(milestones.map(({ text }) => text)).toEqual(['hello'])
    expect(durationMs).toBe(2000)
    expect(received).toEqual(['recognize', 'audio', 'audio', 'finalize-recognition', 'closed'])
  })

  it('is refused as the service refuses it', async () => {
    const { near, received } = opened({ refusal: 'invalid-field: The model has no language de.' })
    await expect(transcribe(near, request, audio())).rejects.toMatchObject({ code: 'invalid-field' })
    expect(received.at(-1)).toBe('closed')
  })

  it.each([
    ['ends before its end', { endsAt: 2 }],
    ['has not heard its end', { heardMs: 1500 }],
  ])('is not passed off as a whole if the recognition %s', async (_case, script) => {
    await expect(transcribe(opened(script).near, request, audio())).rejects.toMatchObject({ code: 'going-away' })
  })

  it('fails with the error of the audio, and of a link that is closed', async () => {
    async function* broken(): AsyncGenerator<Uint8Array, undefined> {
      yield await Promise.resolve(new Uint8Array(2))
      throw new Error('cut')
    }
    const first = opened()
    await expect(transcribe(first.near, request, broken())).rejects.toThrow('cut')
    expect(first.received.at(-1)).toBe('closed')
    const second = opened()
    second.far.close({ code: 'overloaded', message: 'full' })
    await expect(transcribe(second.near, request, audio())).rejects.toMatchObject({ code: 'overloaded' })
  })
})
