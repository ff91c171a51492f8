import { map, NEVER, of, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isSpeechError, SpeechError } from '../../../../src/errors/speech-error.js'
import { serveDataflow } from '../../src/dataflow/session.js'
import type { NodeItem, OpenNode } from '../../src/nodes/core/node.js'
import { projectRegistry } from '../../src/project/project.js'
import { flushPromises } from '../../../service/test/virtual-clock.js'
import {
  audio,
  connectDataflow,
  event,
  finalize,
  inState,
  nothingLeft,
  request,
  scriptedNode,
  start,
  stop,
} from './dataflow-connection.js'

describe('a fault inside', () => {
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  const secret = 'at /home/service/models/x.gram'
  const unserializable = (data: unknown): OpenNode => {
    const item: NodeItem = { type: 'event', event: { name: 'x', data } }
    return () => Promise.resolve(() => of(item))
  }
  const failing =
    (error: unknown): OpenNode =>
    () =>
      Promise.resolve(() => throwError(() => error))

  it.each<readonly [string, OpenNode, readonly string[], string]>([
    [
      'a node that throws when it is opened',
      () => {
        throw new Error(secret)
      },
      ['Start: node-failed'],
      'node-failed',
    ],
    ['a node that rejects', () => Promise.reject(new TypeError(secret)), ['Start: node-failed'], 'node-failed'],
    [
      'a node that throws when it is called',
      () =>
        Promise.resolve(() => {
          throw new Error(secret)
        }),
      ['Start: success', 'Node Failed'],
      'node-failed',
    ],
    [
      'a broken model',
      () => Promise.reject(new SpeechError('invalid-model', `Correct model.json ${secret}.`)),
      ['Start: internal'],
      'internal',
    ],
    ['a node that fails', failing(new Error(secret)), ['Start: success', 'Node Failed'], 'node-failed'],
    [
      'a node whose own peer is lost',
      failing(new SpeechError('connection-lost', secret)),
      ['Start: success', 'Node Failed'],
      'node-failed',
    ],
    ['a number that JSON cannot represent', unserializable({ secret: 5n }), ['Start: success'], 'internal'],
    ['data with a cycle', unserializable(circular), ['Start: success'], 'internal'],
    [
      'an engine that fails',
      failing(new SpeechError('engine-failed', 'The engine stopped.', { cause: new Error(secret) })),
      ['Start: success'],
      'engine-failed',
    ],
  ])('ends the session without details of the service for %s', async (_name, open, answers, code) => {
    const connection = connectDataflow(open)
    connection.send(start())
    await flushPromises()
    expect(JSON.stringify(connection.received)).not.toContain('/home')
    expect(connection.since()).toEqual(answers)
    expect(connection.end()).toBe(code)
    expect(connection.faults).toHaveLength(1)
    nothingLeft(connection)
  })

  it('ends only the session of a node that throws while it processes audio', async () => {
    const throws: OpenNode = () =>
      Promise.resolve((input$) =>
        input$.pipe(
          map((item) => {
            if (item.type === 'audio') throw new Error(secret)
            return item
          }),
        ),
      )
    const connection = connectDataflow(throws)
    const other = await inState('running')
    connection.send(start())
    await flushPromises()
    connection.send(audio(320))
    expect(connection.since()).toEqual(['Start: success', 'Node Failed'])
    expect(connection.end()).toBe('node-failed')
    nothingLeft(connection)
    other.send(audio(320), finalize)
    expect(other.since()).toEqual(['Finalize: success', 'flushed'])
  })

  it('answers a message that is too big, and ends without a response when the client has disconnected', () => {
    const { context } = connectDataflow(scriptedNode().open)
    const codesFor = (error: SpeechError): unknown => {
      const received: unknown[] = []
      const link = { pause: () => undefined, resume: () => undefined, close: () => undefined }
      serveDataflow(
        throwError(() => error),
        link,
        { ...context, projects: projectRegistry([]) },
      ).subscribe({
        next: (message) => received.push(message.content),
        error: (error: unknown) => received.push(isSpeechError(error) && error.code),
        complete: () => received.push('complete'),
      })
      return received
    }
    const text = 'A message of 5 bytes is larger than the 4 allowed.'
    expect(codesFor(new SpeechError('message-too-big', text))).toEqual([
      `{"MessageName":"StartResponse","operation-result":"message-too-big: ${text}"}`,
      'message-too-big',
    ])
    expect(codesFor(new SpeechError('connection-lost', 'Gone.'))).toEqual(['complete'])
  })

  it('is not caused by settings that name a model that is not granted', async () => {
    const connection = connectDataflow(async (context) => {
      await context.engine({ name: 'other' })
      return () => NEVER
    })
    connection.send(start())
    await flushPromises()
    expect(connection.since()).toEqual(['Start: model-denied'])
    expect(connection.faults).toEqual([])
    nothingLeft(connection)
  })
})

describe('a session that is aborted', () => {
  /** Has a pending final, and never completes by itself. */
  const owing: OpenNode = ({ aborted$ = NEVER }) =>
    Promise.resolve(() => aborted$.pipe(map(({ code }) => event(`final ${code}`))))

  it.each([
    ['a cut sample', audio(321), '?: cut-sample', 'cut-sample'],
    [
      'an unknown content type',
      { ...request('{}'), contentType: 1 },
      '?: unknown-content-type',
      'unknown-content-type',
    ],
  ])('by %s sends its final, then the refusal, then the status', async (_what, message, answer, code) => {
    const connection = connectDataflow(owing)
    connection.send(start())
    await flushPromises()
    connection.send(message, audio(321), stop)
    expect(connection.since()).toEqual(['Start: success', `final ${code}`, answer])
    expect(connection.end()).toBe(code)
    nothingLeft(connection)
  })

  it('ends with its refusal and status if an item of its last results cannot be sent', async () => {
    const broken: OpenNode = ({ aborted$ = NEVER }) =>
      Promise.resolve(() => aborted$.pipe(map(() => ({ type: 'event', event: { name: 'x', data: 5n } }))))
    const connection = connectDataflow(broken)
    connection.send(start())
    await flushPromises()
    connection.send(audio(321))
    expect(connection.since()).toEqual(['Start: success', '?: cut-sample'])
    expect(connection.end()).toBe('cut-sample')
    expect(connection.faults).toHaveLength(1)
    nothingLeft(connection)
  })

  it('by the end of its token sends its final, then the status', async () => {
    const connection = connectDataflow(owing)
    connection.send(start())
    await flushPromises()
    connection.ended$.next(new SpeechError('unauthenticated', 'The token was revoked.'))
    expect(connection.since()).toEqual(['Start: success', 'final unauthenticated'])
    expect(connection.end()).toBe('unauthenticated')
    nothingLeft(connection)
  })

  it('by last results that do not arrive sends its final, then the status', async () => {
    const connection = connectDataflow(owing)
    connection.send(start(), finalize)
    await flushPromises()
    connection.clock.advanceTo(60_000)
    expect(connection.since()).toEqual(['Start: success', 'Finalize: success', 'final node-failed', 'Node Failed'])
    expect(connection.end()).toBe('node-failed')
    nothingLeft(connection)
  })

  it('sends nothing after a Stop', async () => {
    const connection = connectDataflow(owing)
    connection.send(start(), stop)
    await flushPromises()
    expect(connection.since()).toEqual(['Start: success', 'Stop: success'])
    expect(connection.end()).toBe('ok')
    nothingLeft(connection)
  })

  it('sends an event without a channel and times with -1 for each', async () => {
    const { node, client: _client, ...connection } = await inState('running')
    node.output$.next(event('Mood'))
    expect(connection.received.map(({ content }) => content)).toEqual([
      '{"Name":"Mood","Channel":-1,"StartMsec":-1,"EndMsec":-1,"GroupId":"","Tags":[],"Data":null}',
    ])
    connection.session.unsubscribe()
  })
})
