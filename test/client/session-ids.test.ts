import { of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../src/errors/speech-error.js'
import type { DataflowMessage, SocketMessage } from '../../src/transport/link.js'
import { chunkOf } from './fake-recognition.js'
import {
  close,
  event,
  ok,
  recognizerMessage,
  response,
  scriptedService,
  virtually,
  type Answers,
} from './virtual-session.js'

const lost = new SpeechError('connection-lost', 'Cut.')
const resumption = { firstDelayMs: 100, maxDelayMs: 2_000, budgetMs: 60_000 }
const idIn = (json: string): unknown => {
  const start = JSON.parse(json) as Readonly<Record<string, unknown>>
  return start['session-id'] ?? start['SessionId']
}

/** The ids in the starts of a session whose first two connections break; the service answers each with these fields. */
const dataflowIds = (fields: readonly object[], dialect: 'pascal' | 'kebab' = 'pascal'): readonly unknown[] => {
  const starts: unknown[] = []
  virtually(({ clock, flowing, watch }) => {
    const answers = fields.map((more, index): Answers<DataflowMessage> => {
      const json = JSON.stringify({ MessageName: 'StartResponse', 'operation-result': 'success', ...more })
      const final = event('{"Name":"SR Final","Channel":0,"Data":{"Text":""}}')
      return {
        Start: [1, response(json)],
        start: [1, response(json)],
        end: [1, ...(index < 2 ? [lost] : [final, close])],
      }
    })
    const [first = {}, ...others] = answers
    const onMessage = ({ contentType, content }: DataflowMessage): void => {
      if (contentType === 2) starts.push(idIn(content))
    }
    watch(
      flowing({ dial: scriptedService(clock, [first, ...others], { onMessage }).dial, resumption, dialect })(
        of(chunkOf(0, 1)),
      ),
    )
    return () => undefined
  })
  return starts
}

describe('the id that a service gives a session', () => {
  it('is in each later start of the session, the first one if there are several', () => {
    const ids = [{ SessionId: 'one' }, { SessionId: 'two' }, {}]
    expect(dataflowIds(ids)).toEqual([undefined, 'one', 'one'])
    expect(dataflowIds(ids, 'kebab')).toEqual([undefined, 'one', 'one'])
    expect(dataflowIds([{}, { 'session-id': 'late' }, {}])).toEqual([undefined, undefined, 'late'])
  })

  it('is not sent to a service that gives none, or one that is no text of 64 characters at most', () => {
    for (const id of [undefined, '', 1, 'x'.repeat(65)]) {
      expect(dataflowIds([{ SessionId: id }, { SessionId: id }, {}])).toEqual([undefined, undefined, undefined])
    }
  })

  it('is of one session: another one of the same recognition begins without it', () => {
    virtually(({ clock, flowing, watch }) => {
      const json = '{"MessageName":"StartResponse","operation-result":"success","SessionId":"one"}'
      const final = event('{"Name":"SR Final","Channel":0,"Data":{"Text":""}}')
      const starts: unknown[] = []
      const { dial } = scriptedService<DataflowMessage>(
        clock,
        [{ Start: [1, response(json)], end: [1, final, close] }],
        {
          onMessage: ({ contentType, content }) => {
            if (contentType === 2) starts.push(idIn(content))
          },
        },
      )
      const run = flowing({ dial, resumption })
      watch(run(of(chunkOf(0, 1))))
      watch(run(of(chunkOf(0, 1))))
      return () => expect(starts).toEqual([undefined, undefined])
    })
  })

  it('is in the next recognition of a socket, and after its loss', () => {
    virtually(({ clock, recognizing, watch }) => {
      const started = recognizerMessage('recognize-response', { ...ok, 'session-id': 'one' })
      const final = recognizerMessage('final-result', { ...ok, text: '', 'end-msec': '0', 'heard-msec': '0' })
      const last = recognizerMessage('finalize-recognition-response', ok)
      const starts: unknown[] = []
      const answers: [Answers<SocketMessage>, Answers<SocketMessage>] = [
        { recognize: [1, started], 'finalize-recognition': [1, lost] },
        { recognize: [1, started], 'finalize-recognition': [1, last, final] },
      ]
      const { dial } = scriptedService<SocketMessage>(clock, answers, {
        onMessage: (message) => {
          if (typeof message === 'string' && message.includes('"recognize"')) starts.push(idIn(message))
        },
      })
      watch(recognizing({ dial, resumption })(of(chunkOf(0, 1))))
      return () => expect(starts.slice(0, 2)).toEqual([undefined, 'one'])
    })
  })
})
