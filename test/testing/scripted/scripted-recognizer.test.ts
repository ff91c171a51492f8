import { filter, map, Subject } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import { recognize } from '../../../src/client/recognizer/recognize.js'
import { isSpeechError } from '../../../src/errors/speech-error.js'
import { readRecognizerMessage, writeRecognizerRequest } from '../../../src/protocol/recognizer-messages.js'
import type { RecognitionScript } from '../../../src/testing/scripted/recognition-script.js'
import { scriptedRecognizer } from '../../../src/testing/scripted/scripted-recognizer.js'
import { scriptedDial } from '../../../src/testing/scripted-dial.js'
import type { SocketMessage } from '../../../src/transport/link.js'

const begin = writeRecognizerRequest({
  request: 'recognize',
  audioFormat: 'pcm',
  modelName: 'm',
  sampleRateHz: 8000,
})
const finalize = writeRecognizerRequest({ request: 'finalize-recognition' })
const audio = (ms: number): Uint8Array => new Uint8Array(ms * 16)

/** A client of one session, and what it received: names, texts and times. */
const openSession = (recognizer: ReturnType<typeof scriptedRecognizer>, reportsSpeech = false) => {
  const client$ = new Subject<SocketMessage>()
  const log: string[] = []
  recognizer({ received$: client$, reportsSpeech }).subscribe({
    next: (message) => {
      const read = readRecognizerMessage(String(message))
      if (read._tag === 'Left') throw read.left.error
      const { right } = read
      if ('operationResult' in right && right.message !== 'final-result') return
      const { message: name, startMs = 0, endMs = 0 } = right as { message: string; startMs?: number; endMs?: number }
      const text = 'text' in right ? right.text : 'name' in right ? right.name : ''
      const result =
        'operationResult' in right && right.operationResult !== 'Success' ? ` ${right.operationResult}` : ''
      log.push(`${name.replace('-result', '')} ${startMs}-${endMs} ${text}${result}`)
    },
    error: (error: unknown) => log.push(isSpeechError(error) ? error.code : 'junk'),
  })
  return {
    send: (...messages: readonly SocketMessage[]) => {
      for (const message of messages) client$.next(message)
      return log.splice(0)
    },
  }
}

const invalid = (script: unknown): string => {
  try {
    scriptedRecognizer(script as RecognitionScript)
  } catch (error) {
    return isSpeechError(error) ? error.message : 'junk'
  }
  return 'valid'
}

describe('a scripted recognizer', () => {
  it('answers with the words at their times, however the audio arrives', () => {
    const script = [{ text: 'seven of clubs', startMs: 100, endMs: 700 }, 'nine']
    const expected = [
      'partial 100-300 seven',
      'partial 100-500 seven of',
      'partial 100-700 seven of clubs',
      'milestone 100-700 seven of clubs',
      'partial 1200-1500 nine',
      'milestone 1200-1500  nine',
      'final 100-1500 seven of clubs nine',
    ]
    const inSteps = openSession(scriptedRecognizer(script))
    inSteps.send(begin)
    const log = Array.from({ length: 20 }, () => inSteps.send(audio(100))).flat()
    expect([...log, ...inSteps.send(finalize)]).toEqual(expected)
    expect(openSession(scriptedRecognizer(script)).send(begin, audio(2000), finalize)).toEqual(expected)
    expect(inSteps.send(begin, audio(500), finalize)).toEqual(['final 0-500 '])
  })

  it('makes a text final when the client does, with the audio that there is', () => {
    expect(openSession(scriptedRecognizer('seven of clubs')).send(begin, audio(150), finalize)).toEqual([
      'milestone 0-150 seven of clubs',
      'final 0-150 seven of clubs',
    ])
    expect(openSession(scriptedRecognizer('seven of clubs')).send(begin, finalize)).toEqual(['final 0-0 '])
  })

  it('makes only those words final whose audio arrived if the script has times, and the rest later', () => {
    const words = ['seven', 'of', 'clubs'].map((text, at) => ({ text, startMs: at * 400, endMs: at * 400 + 300 }))
    const session = openSession(scriptedRecognizer([{ words, finalAfterMs: 0 }]))
    expect(session.send(begin, audio(500), finalize)).toEqual([
      'partial 0-300 seven',
      'milestone 0-700 seven of',
      'final 0-700 seven of',
    ])
    expect(session.send(begin, audio(600))).toEqual(['partial 300-600 clubs', 'milestone 300-600 clubs'])
  })

  it('has a text for each turn that the client finalizes', () => {
    const until = 'finalize'
    const session = openSession(scriptedRecognizer([{ text: 'one', until }, { text: 'two', until }, 'three']))
    expect(session.send(begin, audio(5000), finalize)).toEqual([
      'partial 0-300 one',
      'milestone 0-300 one',
      'final 0-300 one',
    ])
    expect(session.send(begin, audio(200), finalize)).toEqual(['milestone 0-200 two', 'final 0-200 two'])
    expect(session.send(begin, audio(700))).toEqual(['partial 0-300 three', 'milestone 0-300 three'])
  })

  it('shows the given partial results, and reports how much of each stays', () => {
    const client$ = new Subject<SocketMessage>()
    const stable: unknown[] = []
    const script = [{ text: 'seven of clubs', partials: ['sever', 'seven off', 'seven of'] }]
    scriptedRecognizer(script)({ received$: client$ }).subscribe((message) => {
      const read = readRecognizerMessage(String(message))
      if (read._tag === 'Right' && read.right.message === 'partial-result')
        stable.push([read.right.text, read.right.stableLength])
    })
    client$.next(begin)
    client$.next(audio(900))
    expect(stable).toEqual([
      ['sever', 0],
      ['seven off', 5],
      ['seven of', 8],
    ])
  })

  it('reports where a text begins and ends, if that is asked for', () => {
    expect(openSession(scriptedRecognizer('one'), true).send(begin, audio(700))).toEqual([
      'event 0-0 Speech Started',
      'partial 0-300 one',
      'event 0-300 Speech Ended',
      'milestone 0-300 one',
    ])
  })

  it('fails where the script says so, and ends a connection that sends audio first', () => {
    const script = ['one', { error: 'internal', message: 'Broken.', atMs: 1000 }] as const
    expect(openSession(scriptedRecognizer(script)).send(begin, audio(1100))).toEqual([
      'partial 0-300 one',
      'milestone 0-300 one',
      'final 0-300 one internal: Broken.',
    ])
    expect(openSession(scriptedRecognizer('one')).send(audio(100))).toEqual(['no-recognition'])
  })

  it('has the next script for each session, and begins again after the last one', () => {
    const recognizer = scriptedRecognizer({ sessions: ['one', ['two']] })
    const finals = [1, 2, 3].map(() => openSession(recognizer).send(begin, audio(100), finalize).at(-1))
    expect(finals).toEqual(['final 0-100 one', 'final 0-100 two', 'final 0-100 one'])
  })

  it('says where a script is wrong', () => {
    expect(invalid(['one', { text: 'two', fast: true }])).toBe(
      'Unknown option "1.fast"; there are text, words, startMs, endMs, partials, until, finalAfterMs.',
    )
    expect(invalid({ sessions: [['one', { words: [{ text: 'two', startMs: -1, endMs: 5 }] }]] })).toBe(
      'sessions.0.1.words.0.startMs must be a number from 0, not -1.',
    )
    expect(invalid([{ error: 'broken' }])).toBe('0.error must be a code of docs/ERRORS.md.')
    expect(invalid([{}])).toBe('In the script, give each utterance either text or words.')
    expect(invalid({ sessions: [] })).toBe('In the script, sessions must not be empty.')
    for (const empty of ['', ' ', [], { words: [] }])
      expect(invalid(empty)).toMatch(/^In the script, there are no words;/)
    expect(invalid({ sesions: ['one'] })).toBe('Unknown option "sesions"; did you mean sessions?')
    expect(invalid([{ eror: 'internal' }])).toBe('Unknown option "0.eror"; did you mean error?')
    expect(
      invalid([
        { text: 'one', startMs: 500 },
        { text: 'two', startMs: 600 },
      ]),
    ).toBe('In the script, "two" begins before the end of the text before it.')
    expect(invalid(7)).toBe('The script must be a text, an object or a list of them, not 7.')
  })

  it('answers a session of the client, at a speed in virtual time', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected))
    scheduler.run(({ expectObservable }) => {
      const dial = scriptedDial<SocketMessage, SocketMessage>(scriptedRecognizer('one two', { speed: 2, scheduler }))
      const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
      const session = recognize({ url: 'ws://localhost', model: 'm', token: 't', format, testing: { dial, scheduler } })
      const texts$ = session([audio(400), audio(600)]).pipe(
        filter((event) => event.type === 'partial' || event.type === 'final'),
        map(({ text }) => text),
      )
      // The words end at 300 ms and 600 ms of the audio, and the audio at 1000 ms.
      expectObservable(texts$).toBe('150ms a 149ms b 199ms (c|)', { a: 'one', b: 'one two', c: 'one two' })
    })
  })
})
