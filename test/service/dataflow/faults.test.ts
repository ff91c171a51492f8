import { map, NEVER, of, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isSpeechError, SpeechError } from '../../../src/errors/speech-error.js'
import { serveDataflow } from '../../../src/service/dataflow/session.js'
import type { NodeItem, OpenNode } from '../../../src/service/nodes/core/node.js'
import { projectRegistry } from '../../../src/service/project/project.js'
import { turn } from '../virtual-clock.js'
import {
  audio,
  dataflowTalk,
  event,
  finalize,
  inState,
  nothingLeft,
  request,
  scriptedNode,
  start,
  stop,
} from './dataflow-talk.js'

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
    ['a number that JSON has no word for', unserializable({ secret: 5n }), ['Start: success'], 'internal'],
    ['data that goes in a circle', unserializable(circular), ['Start: success'], 'internal'],
    [
      'an engine that fails',
      failing(new SpeechError('engine-failed', 'The engine stopped.', { cause: new Error(secret) })),
      ['Start: success'],
      'engine-failed',
    ],
  ])('ends the session without details of the service for %s', async (_name, open, answers, code) => {
    const one = dataflowTalk(open)
    one.say(start())
    await turn()
    expect(JSON.stringify(one.heard)).not.toContain('/home')
    expect(one.since()).toEqual(answers)
    expect(one.end()).toBe(code)
    expect(one.faults).toHaveLength(1)
    nothingLeft(one)
  })

  it('ends the session of a node that throws while it takes audio, and only that one', async () => {
    const throws: OpenNode = () =>
      Promise.resolve((input$) =>
        input$.pipe(
          map((item) => {
            if (item.type === 'audio') throw new Error(secret)
            return item
          }),
        ),
      )
    const one = dataflowTalk(throws)
    const other = await inState('running')
    one.say(start())
    await turn()
    one.say(audio(320))
    expect(one.since()).toEqual(['Start: success', 'Node Failed'])
    expect(one.end()).toBe('node-failed')
    nothingLeft(one)
    other.say(audio(320), finalize)
    expect(other.since()).toEqual(['Finalize: success', 'flushed'])
  })

  it('answers a message that is too big, and ends without an answer when the client is gone', () => {
    const { terms } = dataflowTalk(scriptedNode().open)
    const hears = (error: SpeechError): unknown => {
      const heard: unknown[] = []
      const link = { pause: () => undefined, resume: () => undefined, close: () => undefined }
      serveDataflow(
        throwError(() => error),
        link,
        { ...terms, projects: projectRegistry([]) },
      ).subscribe({
        next: (message) => heard.push(message.content),
        error: (one: unknown) => heard.push(isSpeechError(one) && one.code),
        complete: () => heard.push('complete'),
      })
      return heard
    }
    const text = 'A message of 5 bytes is larger than the 4 allowed.'
    expect(hears(new SpeechError('message-too-big', text))).toEqual([
      `{"MessageName":"StartResponse","operation-result":"message-too-big: ${text}"}`,
      'message-too-big',
    ])
    expect(hears(new SpeechError('connection-lost', 'Gone.'))).toEqual(['complete'])
  })

  it('is not caused by settings that ask for a model that is not granted', async () => {
    const one = dataflowTalk(async (context) => {
      await context.engine({ name: 'other' })
      return () => NEVER
    })
    one.say(start())
    await turn()
    expect(one.since()).toEqual(['Start: model-denied'])
    expect(one.faults).toEqual([])
    nothingLeft(one)
  })
})

describe('a session that is aborted', () => {
  /** Owes a final, and never ends by itself. */
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
  ])('by %s has its final, then the refusal, then the status', async (_what, message, answer, code) => {
    const one = dataflowTalk(owing)
    one.say(start())
    await turn()
    one.say(message, audio(321), stop)
    expect(one.since()).toEqual(['Start: success', `final ${code}`, answer])
    expect(one.end()).toBe(code)
    nothingLeft(one)
  })

  it('by the end of its token has its final, then the status', async () => {
    const one = dataflowTalk(owing)
    one.say(start())
    await turn()
    one.ended$.next(new SpeechError('unauthenticated', 'The token was revoked.'))
    expect(one.since()).toEqual(['Start: success', 'final unauthenticated'])
    expect(one.end()).toBe('unauthenticated')
    nothingLeft(one)
  })

  it('by last results that do not come has its final, then the status', async () => {
    const one = dataflowTalk(owing)
    one.say(start(), finalize)
    await turn()
    one.clock.advanceTo(60_000)
    expect(one.since()).toEqual(['Start: success', 'Finalize: success', 'final node-failed', 'Node Failed'])
    expect(one.end()).toBe('node-failed')
    nothingLeft(one)
  })

  it('sends nothing after a Stop', async () => {
    const one = dataflowTalk(owing)
    one.say(start(), stop)
    await turn()
    expect(one.since()).toEqual(['Start: success', 'Stop: success'])
    expect(one.end()).toBe('ok')
    nothingLeft(one)
  })

  it('sends an event without a channel and times with -1 for each', async () => {
    const { node, client: _client, ...one } = await inState('running')
    node.says$.next(event('Mood'))
    expect(one.heard.map(({ content }) => content)).toEqual([
      '{"Name":"Mood","Channel":-1,"StartMsec":-1,"EndMsec":-1,"GroupId":"","Tags":[],"Data":null}',
    ])
    one.session.unsubscribe()
  })
})
