import { Observable, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Engine } from '../../../engines/src/engine.js'
import { scriptedEngine } from '../../../service/src/testing/scripted-engine.js'
import {
  brief,
  inState,
  nothingLeft,
  parsed,
  recognize,
  stopRecognition,
  connectRecognizer,
  untilFinal,
  type Json,
} from './recognizer-connection.js'
import { spoken } from '../sessions/spoken.js'

describe('a fault inside', () => {
  const secret = 'at /home/service/models/x.gram'
  const base = scriptedEngine({ texts: ['hello'] })
  it.each<readonly [string, Engine, string]>([
    [
      'an engine that throws when it is called',
      {
        ...base,
        recognize: () => {
          throw new Error(secret)
        },
      },
      'internal',
    ],
    [
      'an engine that fails with a foreign error',
      { ...base, recognize: () => () => throwError(() => new TypeError(secret)) },
      'internal',
    ],
    [
      'a model that turns out to be broken',
      { ...base, recognize: () => () => throwError(() => new SpeechError('invalid-model', secret)) },
      'internal',
    ],
    [
      'an engine that fails',
      { ...base, recognize: () => () => throwError(() => new SpeechError('engine-failed', 'It stopped.')) },
      'engine-failed',
    ],
  ])(
    'ends the recognition with one final and closes, without details of the service, for %s',
    async (_name, engine, code) => {
      const connection = connectRecognizer(() => Promise.resolve(engine))
      connection.send(recognize())
      expect(await connection.ended).toBe(code)
      expect(JSON.stringify(connection.received)).not.toContain('/home')
      expect(connection.since()).toEqual(['recognize: Success', `final-result: ${code} ""`])
      expect(connection.faults).toHaveLength(1)
      nothingLeft(connection)
    },
  )

  it('does not keep a recognition from its end, and is reported, for an engine whose teardown throws', async () => {
    const connection = connectRecognizer(() =>
      Promise.resolve({
        ...base,
        recognize: () => () =>
          new Observable(() => () => {
            throw new Error(secret)
          }),
      }),
    )
    connection.send(recognize())
    await connection.receive()
    connection.send(stopRecognition)
    expect(brief(await connection.receive())).toBe('stop-recognition: Success')
    expect(String(connection.faults)).toContain(secret)
    connection.drain$.next({ pauseWithinMs: 0 })
    expect(await connection.ended).toBe('going-away')
    nothingLeft(connection)
  })

  it('sends the text until then with the final', async () => {
    const connection = await inState('running')
    connection.send(await spoken(6_000))
    const received: Json[] = []
    do received.push(parsed(await connection.receive()))
    while (received.at(-1)?.['message-name'] !== 'milestone-result')
    connection.send('junk')
    received.push(...(await untilFinal(connection)).map(parsed))
    const milestones = received.filter((json) => json['message-name'] === 'milestone-result')
    expect(milestones.map((json) => json['text']).join('')).not.toBe('')
    expect(received.at(-1)?.['text']).toBe(milestones.map((json) => json['text']).join(''))
  })
})
