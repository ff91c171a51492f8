import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readControl } from '../../src/deepgram-listen/messages.js'
import type { RecognizerMessage } from '../../../../src/protocol/recognizer-messages.js'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { openListen, settled } from './listen-client.js'

const milestone = (text: string, startMs: number, endMs: number): RecognizerMessage => ({
  message: 'milestone-result',
  text,
  startMs,
  endMs,
  confidence: 0.5,
  words: [{ text: `${text}.`, startMs, endMs }],
})

const event = (name: string, startMs: number, endMs?: number): RecognizerMessage => ({
  message: 'event',
  name,
  startMs,
  ...(endMs !== undefined && { endMs }),
})

/** Single bytes, of a WAV file without samples. */
const pieces = [
  ...Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVEJUNK\0\xff\xff\0', 'latin1'), Buffer.alloc(15_000)]),
].map((byte) => Uint8Array.of(byte))

/** The results as `text@start`, with marks for what they are. */
const shown = (messages: readonly Readonly<Record<string, unknown>>[]): readonly unknown[] =>
  messages.map((message) => {
    if (message['type'] !== 'Results') return message['type']
    const { channel, start, is_final: isFinal, speech_final: isSpeechFinal, from_finalize: isFromFinalize } = message
    const [{ transcript }] = (channel as { alternatives: [{ transcript: string }] }).alternatives
    return [
      `${transcript}@${String(start)}`,
      isFinal === true && 'final',
      isSpeechFinal === true && 'speech',
      isFromFinalize === true && 'finalize',
    ]
      .filter(Boolean)
      .join(' ')
  })

describe('a socket of the Deepgram interface', () => {
  it('translates results', async () => {
    const { recognizer, messages, speak } = await openListen({
      query: 'encoding=linear16&sample_rate=8000&interim_results=true&vad_events=true',
    })
    speak(1_000)
    recognizer().tell(event('Speech Started', 200))
    recognizer().tell({ message: 'partial-result', text: 'hel', startMs: 200, endMs: 600 })
    recognizer().tell(event('Speech Ended', 200, 900))
    recognizer().tell(milestone('hello', 200, 900))
    recognizer().tell(event('SR No Match', 900, 1_000))
    expect(shown(messages)).toEqual(['SpeechStarted', 'hel@0.2', 'hello@0.2 final speech', '@0.9 final speech'])
    expect(messages[0]).toEqual({ type: 'SpeechStarted', channel: [0, 1], timestamp: 0.2 })
    expect(messages[2]).toMatchObject({
      duration: 0.7,
      channel_index: [0, 1],
      channel: {
        alternatives: [
          {
            transcript: 'hello',
            confidence: 0.5,
            words: [{ word: 'hello', punctuated_word: 'hello.', start: 0.2, end: 0.9, confidence: 0.5 }],
          },
        ],
      },
    })
  })

  it('answers Finalize with one result, reads nothing meanwhile, and goes on with its times', async () => {
    const { recognizer, messages, say, speak } = await openListen({ isSlow: true })
    speak(1_000)
    say('Finalize')
    speak(500)
    say('CloseStream')
    const { received } = recognizer()
    expect(received).toEqual(['recognize', 16_000, 'finalize-recognition'])
    recognizer().tell(milestone('one', 100, 300))
    recognizer().tell(milestone(' two', 400, 900))
    expect(messages).toEqual([])
    recognizer().final()
    expect(shown(messages)).toEqual(['one two@0.1 final speech finalize'])
    expect(received.slice(3)).toEqual(['recognize', 8_000, 'finalize-recognition'])
    recognizer().tell(milestone('three', 0, 400))
    recognizer().final()
    expect(shown(messages).slice(1)).toEqual(['three@1 final speech', 'Metadata'])
    expect(messages[1]).toMatchObject({ channel: { alternatives: [{ words: [{ start: 1, end: 1.4 }] }] } })
    expect(messages.at(-1)).toMatchObject({ request_id: 'id', duration: 1.5, channels: 1 })
  })

  it('answers each Finalize without speech, and begins no recognition for it', async () => {
    const { recognizer, messages, say, speak, closedWith } = await openListen()
    speak(500)
    say('Finalize')
    say('Finalize')
    expect(shown(messages)).toEqual(['@0.5 final speech finalize', '@0.5 final speech finalize'])
    expect(recognizer().received).toEqual(['recognize', 8_000, 'finalize-recognition'])
    say('CloseStream')
    expect(shown(messages).slice(2)).toEqual(['Metadata'])
    expect(closedWith()).toBe('normally')
    expect(recognizer().received.at(-1)).toBe('closed')
  })

  it('sends nothing but final results and the metadata after CloseStream', async () => {
    const { recognizer, messages, say, speak } = await openListen({
      query: 'encoding=linear16&sample_rate=8000&interim_results=true&vad_events=true&utterance_end_ms=1000',
      isSlow: true,
    })
    speak(1_000)
    say('CloseStream')
    recognizer().tell(event('Speech Started', 200))
    recognizer().tell({ message: 'partial-result', text: 'hel', startMs: 200, endMs: 600 })
    say('Finalize')
    speak(1_000)
    recognizer().tell(milestone('hello', 200, 900))
    recognizer().final(1_000)
    expect(shown(messages)).toEqual(['hello@0.2 final speech', 'Metadata'])
  })

  it('reports the end of an utterance once, and not while there is speech', async () => {
    const { recognizer, messages, speak } = await openListen({
      query: 'encoding=linear16&sample_rate=8000&utterance_end_ms=1000&interim_results=true',
    })
    recognizer().tell(event('Speech Started', 0))
    recognizer().tell({ message: 'partial-result', text: 'o', startMs: 0, endMs: 10 })
    speak(1_000)
    speak(100)
    recognizer().tell(event('Speech Ended', 0, 800))
    recognizer().tell(milestone('one', 0, 800))
    recognizer().tell(event('Speech Started', 1_000))
    speak(1_900)
    recognizer().tell(event('Speech Ended', 1_000, 2_400))
    speak(100)
    recognizer().tell(milestone('two', 1_000, 2_400))
    speak(200)
    expect(messages.map(({ type }) => type)).toEqual(['Results', 'Results', 'Results'])
    speak(100)
    speak(5_000)
    expect(messages.slice(3)).toEqual([{ type: 'UtteranceEnd', channel: [0, 1], last_word_end: 2.4 }])
  })

  it('reports the end of an utterance behind its definitive text, however late that comes', async () => {
    const { recognizer, messages, speak } = await openListen({
      query: 'encoding=linear16&sample_rate=8000&utterance_end_ms=1000&interim_results=true',
    })
    recognizer().tell(event('Speech Started', 0))
    speak(800)
    recognizer().tell({ message: 'partial-result', text: 'one', startMs: 0, endMs: 800 })
    recognizer().tell(event('Speech Ended', 0, 800))
    speak(2_000)
    expect(messages.map(({ type }) => type)).toEqual(['Results'])
    recognizer().tell(milestone('one', 0, 800))
    speak(100)
    speak(5_000)
    expect(messages.slice(2)).toEqual([{ type: 'UtteranceEnd', channel: [0, 1], last_word_end: 0.8 }])
  })

  it('reports the end of an utterance that a noise without words follows', async () => {
    const { recognizer, messages, speak } = await openListen({
      query: 'encoding=linear16&sample_rate=8000&utterance_end_ms=1000',
    })
    recognizer().tell(event('Speech Started', 0))
    speak(900)
    recognizer().tell(event('Speech Ended', 0, 800))
    recognizer().tell(milestone('one', 0, 800))
    recognizer().tell(event('Speech Started', 1_000))
    speak(1_100)
    recognizer().tell(event('Speech Ended', 1_000, 1_900))
    recognizer().tell(event('SR No Match', 1_000, 1_900))
    speak(100)
    expect(messages.map(({ type }) => type)).toEqual(['Results', 'Results', 'UtteranceEnd'])
  })

  it.each([
    ['the service ends the recognition', 'going-away', 1011],
    ['the engine fails', 'engine-failed', 1011],
    ['the token is revoked', 'unauthenticated', 1008],
  ])('never closes with 1000 when %s', async (_case, code, closeCode) => {
    const { recognizer, messages, say, speak, closedWith } = await openListen({ isSlow: true })
    speak(1_000)
    say('CloseStream')
    recognizer().tell(milestone('kept', 0, 500))
    if (code === 'going-away') recognizer().final(500)
    else recognizer().final(1_000, `${code}: It is over.`)
    expect(shown(messages)).toEqual(['kept@0 final speech', 'Error'])
    expect(closedWith()).toMatchObject({ code, closeCode })
  })

  it('closes with 1011 when its conversation ends with audio that was not read', async () => {
    const { recognizer, speak, closedWith } = await openListen()
    speak(1_000)
    recognizer().close({ code: 'going-away', message: 'The service is closing.' })
    expect(closedWith()).toMatchObject({ code: 'going-away', closeCode: 1011 })
    const other = await openListen()
    other.speak(1_000)
    other.recognizer().close()
    expect(other.closedWith()).toMatchObject({ code: 'going-away', closeCode: 1011 })
  })

  it('closes with 1011 when nothing arrives for 10 s, but not while KeepAlive does', async () => {
    const { messages, say, closedWith, advanceTo } = await openListen()
    for (let atMs = 5_000; atMs <= 30_000; atMs += 5_000) {
      await advanceTo(atMs)
      say('KeepAlive')
    }
    await advanceTo(39_900)
    expect(closedWith()).toBeUndefined()
    await advanceTo(40_000)
    expect(closedWith()).toMatchObject({ closeCode: 1011 })
    expect(messages.at(-1)).toMatchObject({
      type: 'Error',
      description: expect.stringContaining('KeepAlive') as string,
    })
  })

  it('does not count the time in which it reads nothing as silence', async () => {
    const { recognizer, say, speak, closedWith, advanceTo } = await openListen({ isSlow: true })
    speak(1_000)
    await advanceTo(4_000)
    say('Finalize')
    await advanceTo(25_000)
    recognizer().final()
    await advanceTo(34_900)
    expect(closedWith()).toBeUndefined()
    await advanceTo(35_000)
    expect(closedWith()).toMatchObject({ closeCode: 1011 })
  })

  it('ends a recognition without audio by itself, and begins another one in a new conversation', async () => {
    const { recognizers, recognizer, messages, say, speak, advanceTo } = await openListen()
    speak(1_000)
    for (const atMs of [5_000, 10_000]) {
      await advanceTo(atMs)
      say('KeepAlive')
    }
    expect(recognizer(0).received).toEqual(['recognize', 16_000, 'finalize-recognition'])
    expect(messages).toEqual([])
    // The service closes a conversation without a recognition.
    recognizer(0).close()
    await settled()
    expect(recognizers).toHaveLength(2)
    speak(1_000)
    recognizer(1).tell(milestone('later', 100, 900))
    expect(recognizer(1).received).toEqual(['recognize', 16_000])
    expect(shown(messages)).toEqual(['later@1.1 final speech'])
  })

  it.each(['unsubscribed', 'closed', 'lost'] as const)(
    'ends its conversation and its timer when it is %s',
    async (how) => {
      const { clock, recognizer, page, serving, speak } = await openListen()
      speak(1_000)
      if (how === 'unsubscribed') serving.unsubscribe()
      else if (how === 'closed') page.close()
      else page.close({ code: 'connection-lost', message: 'It broke.' })
      expect(recognizer().received.at(-1)).toBe('closed')
      expect(clock.actions.filter(({ closed }) => !closed)).toEqual([])
    },
  )

  it('is refused when the recognition is', async () => {
    await expect(openListen({ refusal: 'overloaded: The service is full.' })).rejects.toMatchObject({
      code: 'overloaded',
    })
  })

  it('names the option when the recognition of a WAV file is refused', async () => {
    const refusal = 'invalid-field: phrases cannot be used with this model.'
    const { page, messages, closedWith } = await openListen({ query: 'model=m&keyterm=Ada', refusal })
    page.send(wavHeader({ encoding: 'pcm', sampleRateHz: 8_000, channels: 1 }, 0))
    await settled()
    expect(closedWith()).toMatchObject({ code: 'invalid-field', closeCode: 1008 })
    expect(messages).toMatchObject([{ type: 'Error', message: 'keyterm cannot be used with this model.' }])
  })

  it('stops reading a conversation while its client does not read', async () => {
    const links = { highWaterMarkBytes: 1_000, lowWaterMarkBytes: 100 }
    const { recognizer, page, messages, speak } = await openListen({ links })
    page.pause()
    for (let at = 0; at < 10; at += 1) recognizer().tell(milestone(`word ${at}`, at * 100, at * 100 + 50))
    expect(messages).toEqual([])
    expect(recognizer().unreadBytes()).toBeGreaterThan(500)
    page.resume()
    expect(recognizer().unreadBytes()).toBe(0)
    expect(shown(messages)).toEqual(Array.from({ length: 10 }, (_one, at) => `word ${at}@${at / 10} final speech`))
    speak(100)
    expect(recognizer().received).toEqual(['recognize', 1_600])
  })

  it.each([1, 2, 3, 7, 1_599, 1_600, 16_000])('takes audio in pieces of %d bytes', async (size) => {
    const { recognizer, page, messages, say } = await openListen()
    for (let at = 0; at < 16_000; at += size) page.send(new Uint8Array(Math.min(size, 16_000 - at)))
    say('CloseStream')
    const audio = recognizer().received.filter((one) => typeof one === 'number')
    expect(audio.every((length) => length % 2 === 0)).toBe(true)
    expect(audio.reduce((sum, length) => sum + length, 0)).toBe(16_000)
    expect(messages).toMatchObject([{ type: 'Metadata', duration: 1 }])
  })

  it.each([
    ['messages', 'encoding=linear16&sample_rate=8000', Array.from({ length: 101 }, () => '{"type":"Finalize"}')],
    ['pieces of samples', 'encoding=linear16&sample_rate=8000&channels=2', pieces],
    ['pieces of a header', 'model=m', pieces],
  ])('closes for too many %s', async (_case, query, messages) => {
    const { page, closedWith } = await openListen({ query })
    for (const message of messages) page.send(message)
    expect(closedWith()).toMatchObject({ code: 'too-many-requests', closeCode: 1011 })
  })

  it('does not take a WAV file that ends within its header for a success', async () => {
    const { page, messages, say, closedWith } = await openListen({ query: 'model=m' })
    page.send(Buffer.from('RIFF\0\0\0\0WA', 'latin1'))
    say('CloseStream')
    expect(closedWith()).toMatchObject({ code: 'invalid-wav', closeCode: 1008 })
    expect(messages).toMatchObject([
      { type: 'Error', message: expect.stringContaining('ended before its samples') as unknown },
    ])
  })

  it('never throws for a text message', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(readControl(text).type).toBeTypeOf('string')
      }),
    )
  })

  it('has a recognition for each channel, and ends with the last one', async () => {
    const { recognizer, messages, page, say, closedWith } = await openListen({
      query: 'encoding=linear16&sample_rate=8000&channels=2&multichannel=true',
      isSlow: true,
    })
    page.send(new Uint8Array(32_000))
    recognizer(1).tell(milestone('right', 100, 500))
    recognizer(0).tell(milestone('left', 200, 600))
    say('CloseStream')
    recognizer(1).final()
    expect(closedWith()).toBeUndefined()
    recognizer(0).tell(milestone('end', 600, 800))
    recognizer(0).final()
    expect(shown(messages)).toEqual([
      'right@0.1 final speech',
      'left@0.2 final speech',
      'end@0.6 final speech',
      'Metadata',
    ])
    expect(messages.slice(0, 3).map(({ channel_index: index }) => index)).toEqual([
      [1, 2],
      [0, 2],
      [0, 2],
    ])
    expect(recognizer(0).received).toEqual(['recognize', 16_000, 'finalize-recognition', 'closed'])
    expect(recognizer(1).received).toEqual(recognizer(0).received)
  })
})
