import { map, NEVER, of, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isSpeechError, SpeechError } from '../../../src/errors/speech-error.js'
import { dataflowConversation } from '../../../src/service/conversation/dataflow-conversation.js'
import type { NodeItem, OpenNode } from '../../../src/service/nodes/node.js'
import { projectRegistry } from '../../../src/service/project/project.js'
import type { DataflowMessage } from '../../../src/transport/link.js'
import { turn } from '../virtual-clock.js'
import {
  audio,
  dataflowTalk,
  event,
  finalize,
  request,
  scriptedNode,
  start,
  stop,
  type DataflowTalk,
  type ScriptedNode,
} from './dataflow-talk.js'
import { deferred } from './talk.js'

const states = ['opened', 'running', 'flushing'] as const
type State = (typeof states)[number]

/** A talk that has come to a state, its answers until then taken. */
const inState = async (state: State): Promise<DataflowTalk & { readonly node: ScriptedNode }> => {
  const node = scriptedNode(state === 'flushing')
  const one = dataflowTalk(node.open)
  if (state !== 'opened') {
    one.say(start())
    await turn()
    if (state === 'flushing') one.say(finalize)
    one.since()
  }
  return { ...one, node }
}

const nothingLeft = ({ clock, places, drain$ }: DataflowTalk, node?: ScriptedNode): void => {
  expect({
    places: places(),
    running: node?.account.running ?? 0,
    timers: clock.waiting,
    waitingForDrain: drain$.observed,
  }).toEqual({ places: 0, running: 0, timers: 0, waitingForDrain: false })
}

describe('a session', () => {
  it('answers Start, hands audio to the project and its events to the client, and ends with OK after the flush', async () => {
    const node = scriptedNode()
    const one = dataflowTalk(node.open)
    one.say(start({ Language: 'en', Settings: { a: 1 } }))
    await turn()
    expect(one.since()).toEqual(['Start: success'])
    expect(node.account.context).toMatchObject({
      inputs: { audio: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } },
      language: 'en',
      idleMs: 0,
    })
    one.say(audio(320), audio(2))
    node.says$.next(event('SR Partial'))
    node.says$.next({ type: 'audio', bytes: new Uint8Array(4) })
    expect(node.account.audio).toEqual([320, 2])
    expect(one.since()).toEqual(['SR Partial', 'audio 4'])
    expect(one.places()).toBe(1)
    one.say(finalize)
    expect(one.since()).toEqual(['Finalize: success', 'flushed'])
    expect(one.end()).toBe('ok')
    nothingLeft(one, node)
  })

  it('takes a half-close as Finalize without the response', async () => {
    const { node, ...one } = await inState('running')
    one.say(audio(320))
    one.client.finish()
    expect(one.since()).toEqual(['flushed'])
    expect(one.end()).toBe('ok')
    nothingLeft(one, node)
  })

  it('merges Update into what nodes see', async () => {
    const { node, ...one } = await inState('running')
    one.say(request({ MessageName: 'Update', Settings: { a: 1, b: 2 }, CallProperties: { Agent: 'Ann' } }))
    one.say(request({ MessageName: 'Update', Settings: { b: 3 } }))
    expect(one.since()).toEqual(['Update: success', 'Update: success'])
    expect(node.account.context?.settings()).toEqual({ a: 1, b: 3 })
    expect(node.account.context?.callProperties()).toEqual({ Agent: 'Ann' })
  })

  it('ends with OK when the project does by itself, and drops what comes then', async () => {
    const { node, ...one } = await inState('running')
    node.says$.next(event('last'))
    node.says$.complete()
    one.say(audio(320), finalize)
    expect(one.since()).toEqual(['last'])
    expect(one.end()).toBe('ok')
    nothingLeft(one, node)
  })
})

/** What is answered, how the stream ends (`-`: it goes on), by state. */
type Row = readonly [string, DataflowMessage, Readonly<Record<State, readonly [readonly string[], string]>>]
const refused = (answer: string, code: string): readonly [readonly string[], string] => [[`${answer}: ${code}`], code]
const goesOn = (...answers: readonly string[]): readonly [readonly string[], string] => [answers, '-']
const inEveryState = (result: Row[2][State]): Row[2] => ({ opened: result, running: result, flushing: result })

/** Until a Start was accepted, every refusal is the response to it. */
const refusedInEveryState = (code: string): Row[2] => ({
  ...inEveryState(refused('?', code)),
  opened: refused('Start', code),
})

describe('every message in every state', () => {
  const table: readonly Row[] = [
    [
      'Update',
      request({ MessageName: 'Update' }),
      { ...inEveryState(goesOn('Update: success')), opened: refused('Update', 'not-started') },
    ],
    [
      'Finalize',
      finalize,
      {
        opened: refused('Finalize', 'not-started'),
        running: [['Finalize: success', 'flushed'], 'ok'],
        flushing: goesOn('Finalize: success'),
      },
    ],
    ['Stop', stop, { ...inEveryState([['Stop: success'], 'ok']), opened: refused('Stop', 'not-started') }],
    [
      'a second Start',
      start(),
      { ...inEveryState(goesOn('Start: already-started')), opened: goesOn('Start: success') },
    ],
    [
      'a Start with a bad field',
      start({ Audio: 5 }),
      { ...inEveryState(goesOn('Start: already-started')), opened: refused('Start', 'invalid-field') },
    ],
    [
      'an Update with a bad field',
      request({ MessageName: 'Update', Settings: 5 }),
      { ...inEveryState(goesOn('Update: invalid-field')), opened: refused('Start', 'invalid-field') },
    ],
    [
      'an unknown request',
      request({ MessageName: 'Dance' }),
      { ...inEveryState(goesOn('?: unknown-message')), opened: refused('Start', 'unknown-message') },
    ],
    ['junk', request('junk'), { ...inEveryState(goesOn('?: invalid-json')), opened: refused('Start', 'invalid-json') }],
    ['audio', audio(320), { ...inEveryState(goesOn()), opened: refused('Start', 'not-started') }],
    ['audio of no bytes', audio(0), { ...inEveryState(goesOn()), opened: refused('Start', 'not-started') }],
    [
      'a cut sample',
      audio(321),
      { opened: refused('Start', 'not-started'), running: refused('?', 'cut-sample'), flushing: goesOn() },
    ],
    ['audio that is text', audio(0, '{}'), refusedInEveryState('empty-audio')],
    ['an event', { ...request('{}'), contentType: 1 }, refusedInEveryState('unknown-content-type')],
    ['a response', { ...request('{}'), contentType: 3 }, refusedInEveryState('unknown-content-type')],
    ['another content type', { ...request('{}'), contentType: 99 }, refusedInEveryState('unknown-content-type')],
  ]
  const cases = table.flatMap(([name, message, byState]) =>
    states.map((state) => [name, state, message, byState[state]] as const),
  )
  it.each(cases)('answers %s when %s as the protocol says', async (_name, state, message, [answers, end]) => {
    const { node, ...one } = await inState(state)
    one.say(message)
    await turn()
    expect(one.since()).toEqual(answers)
    expect(one.end() ?? '-').toBe(end)
    if (end === '-') one.session.unsubscribe()
    nothingLeft(one, node)
    expect(one.faults).toEqual([])
  })

  it('drops audio after Finalize, and what is pending at a Stop', async () => {
    const { node, ...one } = await inState('flushing')
    one.say(audio(320))
    expect(node.account.audio).toEqual([])
    one.say(stop)
    node.says$.next(event('late'))
    expect(one.since()).toEqual(['Stop: success'])
    nothingLeft(one, node)
  })

  it('counts no audio for a message without bytes', async () => {
    const { node, ...one } = await inState('running')
    one.say(audio(0))
    expect(node.account.audio).toEqual([])
  })

  it('refuses a half-close before Start', async () => {
    const one = await inState('opened')
    one.client.finish()
    expect(one.since()).toEqual(['Start: not-started'])
    expect(one.end()).toBe('not-started')
    nothingLeft(one)
  })
})

describe('while a session starts', () => {
  it('keeps what comes in order, with the client held back, until the start is answered', async () => {
    const node = scriptedNode()
    const admitted = deferred<undefined>()
    const one = dataflowTalk(node.open, {}, () => admitted.promise)
    one.say(start(), request({ MessageName: 'Update', Settings: { a: 1 } }), audio(320), finalize, audio(320))
    await turn()
    expect(one.since()).toEqual([])
    expect(one.client.bufferedBytes).toBeGreaterThan(640)
    admitted.resolve(undefined)
    await turn()
    expect(one.since()).toEqual(['Start: success', 'Update: success', 'Finalize: success', 'flushed'])
    expect(node.account.audio).toEqual([320])
    expect(node.account.context?.settings()).toEqual({ a: 1 })
    expect(one.end()).toBe('ok')
    nothingLeft(one, node)
  })

  it('keeps a Stop, and a half-close', async () => {
    for (const late of ['stop', 'half-close'] as const) {
      const node = scriptedNode()
      const admitted = deferred<undefined>()
      const one = dataflowTalk(node.open, {}, () => admitted.promise)
      one.say(start())
      if (late === 'stop') one.say(stop)
      else one.client.finish()
      await turn()
      admitted.resolve(undefined)
      await turn()
      expect(one.since()).toEqual(['Start: success', late === 'stop' ? 'Stop: success' : 'flushed'])
      expect(one.end()).toBe('ok')
      nothingLeft(one, node)
    }
  })
})

const vanish = ({ client }: DataflowTalk): void => {
  client.close({ code: 'connection-lost', message: 'Gone.' })
}

describe('a client that vanishes', () => {
  it.each(states)('leaves nothing behind when %s', async (state) => {
    const { node, ...one } = await inState(state)
    vanish(one)
    nothingLeft(one, node)
    node.says$.next(event('late'))
    expect(one.since()).toEqual([])
  })

  it('leaves nothing behind when its token is being checked, and when the project opens', async () => {
    const admitted = deferred<undefined>()
    const opened = deferred<undefined>()
    const node = scriptedNode()
    const slowly: OpenNode = async (context) => {
      await opened.promise
      return node.open(context)
    }
    const early = dataflowTalk(slowly, {}, () => admitted.promise)
    early.say(start())
    await turn()
    vanish(early)
    admitted.resolve(undefined)
    await turn()
    nothingLeft(early, node)

    const later = dataflowTalk(slowly)
    later.say(start())
    await turn()
    expect(later.places()).toBe(1)
    vanish(later)
    expect(later.places()).toBe(0)
    opened.resolve(undefined)
    await turn()
    nothingLeft(later, node)
  })
})

describe('the clock', () => {
  it('refuses a stream without a Start after startWithinMs', async () => {
    const one = await inState('opened')
    one.clock.advanceTo(9_999)
    expect(one.end()).toBeUndefined()
    one.clock.advanceTo(10_000)
    expect(one.since()).toEqual(['Start: not-started'])
    expect(one.end()).toBe('not-started')
    nothingLeft(one)
  })

  it('refuses a start that is not ready after openWithinMs', async () => {
    const one = dataflowTalk(() => deferred<never>().promise)
    one.say(start())
    await turn()
    one.clock.advanceTo(29_999)
    await turn()
    expect(one.end()).toBeUndefined()
    one.clock.advanceTo(30_000)
    await turn()
    expect(one.since()).toEqual(['Start: engine-failed'])
    expect(one.end()).toBe('engine-failed')
    nothingLeft(one)
  })

  it('gives up the last results of a node, by its name, before flushWithinMs', async () => {
    const node = scriptedNode(true)
    const one = dataflowTalk(node.open)
    one.say(start())
    await turn()
    one.client.finish()
    await turn()
    one.clock.advanceTo(44_999)
    expect(one.end()).toBeUndefined()
    one.clock.advanceTo(45_000)
    expect(one.since()).toEqual(['Start: success', 'Node Failed'])
    expect(one.end()).toBe('node-failed')
    nothingLeft(one, node)
  })

  it('finalizes the longest session', async () => {
    const node = scriptedNode()
    const one = dataflowTalk(node.open, { maxSessionMs: 60_000, idleMs: 0 })
    one.say(start())
    await turn()
    one.clock.advanceTo(59_999)
    expect(node.account.finished).toBe(false)
    one.clock.advanceTo(60_000)
    expect(one.since()).toEqual(['Start: success', 'flushed'])
    expect(one.end()).toBe('going-away')
    nothingLeft(one, node)
  })
})

describe('a drain', () => {
  it('refuses a stream without a Start, and one that comes later', async () => {
    const one = await inState('opened')
    one.drain$.next(undefined)
    expect(one.since()).toEqual(['Start: going-away'])
    expect(one.end()).toBe('going-away')
    nothingLeft(one)
  })

  it('refuses a session that starts, before and after its admission', async () => {
    const node = scriptedNode()
    const admitted = deferred<undefined>()
    const one = dataflowTalk(node.open, {}, () => admitted.promise)
    one.say(start())
    await turn()
    one.drain$.next(undefined)
    admitted.resolve(undefined)
    await turn()
    expect(one.since()).toEqual(['Start: going-away'])
    expect(one.end()).toBe('going-away')
    nothingLeft(one, node)
  })

  it('finalizes a session that runs, and lets one that flushes end', async () => {
    const running = await inState('running')
    running.drain$.next(undefined)
    expect(running.since()).toEqual(['flushed'])
    expect(running.end()).toBe('going-away')
    nothingLeft(running, running.node)

    const flushing = await inState('flushing')
    flushing.drain$.next(undefined)
    expect(flushing.end()).toBeUndefined()
    flushing.node.says$.complete()
    expect(flushing.end()).toBe('ok')
    nothingLeft(flushing, flushing.node)
  })
})

describe('a fault inside', () => {
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  const secret = 'at /home/service/models/x.gram'
  const unserialisable = (data: unknown): OpenNode => {
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
    ['a number that JSON has no word for', unserialisable({ secret: 5n }), ['Start: success'], 'internal'],
    ['data that goes in a circle', unserialisable(circular), ['Start: success'], 'internal'],
    [
      'an engine that fails',
      failing(new SpeechError('engine-failed', 'The engine stopped.', { cause: new Error(secret) })),
      ['Start: success'],
      'engine-failed',
    ],
  ])('ends the session and tells nothing of the inside for %s', async (_name, open, answers, code) => {
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

  it('says by name that a message is too big, whatever else is wrong with a client only ends the session', () => {
    const { terms } = dataflowTalk(scriptedNode().open)
    const hears = (error: SpeechError): unknown => {
      const heard: unknown[] = []
      const link = { pause: () => undefined, resume: () => undefined, close: () => undefined }
      dataflowConversation(
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

  it('is not caused by settings that ask for what is not granted', async () => {
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

describe('a session that is broken off', () => {
  /** Owes a final, and never ends by itself. */
  const owing: OpenNode = ({ brokenOff$ = NEVER }) =>
    Promise.resolve(() => brokenOff$.pipe(map(({ code }) => event(`final ${code}`))))

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

  it('does not end by a Stop: nothing is said after that', async () => {
    const one = dataflowTalk(owing)
    one.say(start(), stop)
    await turn()
    expect(one.since()).toEqual(['Start: success', 'Stop: success'])
    expect(one.end()).toBe('ok')
    nothingLeft(one)
  })

  it('tells events that have no place of their own as those of none', async () => {
    const { node, client: _client, ...one } = await inState('running')
    node.says$.next(event('Mood'))
    expect(one.heard.map(({ content }) => content)).toEqual([
      '{"Name":"Mood","Channel":-1,"StartMsec":-1,"EndMsec":-1}',
    ])
    one.session.unsubscribe()
  })
})

describe('a token that is good no longer', () => {
  const revoked = new SpeechError('unauthenticated', 'The token was revoked.')

  it.each(['running', 'flushing'] as const)(
    'ends a session that is %s at once, with its status and without a flush',
    async (state) => {
      const one = await inState(state)
      const { finished } = one.node.account
      one.ended$.next(revoked)
      expect([one.since(), one.end(), one.node.account.finished]).toEqual([[], 'unauthenticated', finished])
      nothingLeft(one, one.node)
      expect(one.ended$.observed).toBe(false)
    },
  )

  it('refuses a Start whose project is being made ready', async () => {
    const node = scriptedNode()
    const opening = deferred<undefined>()
    const one = dataflowTalk(async (context) => {
      await opening.promise
      return node.open(context)
    })
    one.say(start())
    await turn()
    one.ended$.next(revoked)
    expect([one.since(), one.end()]).toEqual([['Start: unauthenticated'], 'unauthenticated'])
    opening.resolve(undefined)
    await turn()
    nothingLeft(one, node)
  })
})
