import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { noopMonitor, type SessionEnd } from '../../src/monitor/service-monitor.js'
import { SessionWatch } from '../../src/monitor/session-watch.js'
import type { OpenNode } from '../../src/nodes/core/node.js'
import type { SessionLimits } from '../../src/sessions/session-context.js'
import { flushPromises } from '../../../service/test/virtual-clock.js'
import {
  connectDataflow,
  event,
  inState,
  nothingLeft,
  scriptedNode,
  start,
  states,
  vanish,
  type DataflowConnection,
} from './dataflow-connection.js'
import { deferred } from '../sessions/test-connection.js'

describe('a client that vanishes', () => {
  it.each(states)('leaves nothing open when %s', async (state) => {
    const { node, ...connection } = await inState(state)
    vanish(connection)
    nothingLeft(connection, node)
    node.output$.next(event('late'))
    expect(connection.since()).toEqual([])
  })

  it('leaves nothing open when its token is being checked, and when the project opens', async () => {
    const admitted = deferred<undefined>()
    const opened = deferred<undefined>()
    const node = scriptedNode()
    const slowly: OpenNode = async (context) => {
      await opened.promise
      return node.open(context)
    }
    const early = connectDataflow(slowly, {}, () => admitted.promise)
    early.send(start())
    await flushPromises()
    vanish(early)
    admitted.resolve(undefined)
    await flushPromises()
    nothingLeft(early, node)

    const later = connectDataflow(slowly)
    later.send(start())
    await flushPromises()
    expect(later.places()).toBe(1)
    vanish(later)
    expect(later.places()).toBe(0)
    opened.resolve(undefined)
    await flushPromises()
    nothingLeft(later, node)
  })
})

describe('the clock', () => {
  it('refuses a stream without a Start after startWithinMs', async () => {
    const connection = await inState('opened')
    connection.clock.advanceTo(9_999)
    expect(connection.end()).toBeUndefined()
    connection.clock.advanceTo(10_000)
    expect(connection.since()).toEqual(['Start: not-started'])
    expect(connection.end()).toBe('not-started')
    nothingLeft(connection)
  })

  it('refuses a start that is not ready after openWithinMs', async () => {
    const connection = connectDataflow(() => deferred<never>().promise)
    connection.send(start())
    await flushPromises()
    connection.clock.advanceTo(29_999)
    await flushPromises()
    expect(connection.end()).toBeUndefined()
    connection.clock.advanceTo(30_000)
    await flushPromises()
    expect(connection.since()).toEqual(['Start: engine-failed'])
    expect(connection.end()).toBe('engine-failed')
    nothingLeft(connection)
  })

  it('releases a place that is granted only after openWithinMs', async () => {
    const node = scriptedNode()
    const admitted = deferred<undefined>()
    const connection = connectDataflow(node.open, {}, () => admitted.promise)
    connection.send(start())
    await flushPromises()
    connection.clock.advanceTo(30_000)
    expect([connection.since(), connection.end()]).toEqual([['Start: engine-failed'], 'engine-failed'])
    admitted.resolve(undefined)
    await flushPromises()
    nothingLeft(connection, node)
  })

  it('ends the wait for the last results of a node before flushWithinMs, with an error that names the node', async () => {
    const node = scriptedNode(true)
    const connection = connectDataflow(node.open)
    connection.send(start())
    await flushPromises()
    connection.client.finish()
    await flushPromises()
    connection.clock.advanceTo(44_999)
    expect(connection.end()).toBeUndefined()
    connection.clock.advanceTo(45_000)
    expect(connection.since()).toEqual(['Start: success', 'Node Failed'])
    expect(connection.end()).toBe('node-failed')
    nothingLeft(connection, node)
  })

  it('finalizes the longest session', async () => {
    const node = scriptedNode()
    const connection = connectDataflow(node.open, { maxSessionMs: 60_000, idleMs: 0 })
    connection.send(start())
    await flushPromises()
    connection.clock.advanceTo(59_999)
    expect(node.account.finished).toBe(false)
    connection.clock.advanceTo(60_000)
    expect(connection.since()).toEqual(['Start: success', 'flushed'])
    expect(connection.end()).toBe('going-away')
    nothingLeft(connection, node)
  })
})

describe('a drain', () => {
  it('refuses a stream without a Start', async () => {
    const connection = await inState('opened')
    connection.drain$.next({ pauseWithinMs: 8_000 })
    expect(connection.since()).toEqual(['Start: going-away'])
    expect(connection.end()).toBe('going-away')
    nothingLeft(connection)
  })

  it('refuses a session that starts, before and after its admission', async () => {
    const node = scriptedNode()
    const admitted = deferred<undefined>()
    const connection = connectDataflow(node.open, {}, () => admitted.promise)
    connection.send(start())
    await flushPromises()
    connection.drain$.next({ pauseWithinMs: 8_000 })
    admitted.resolve(undefined)
    await flushPromises()
    expect(connection.since()).toEqual(['Start: going-away'])
    expect(connection.end()).toBe('going-away')
    nothingLeft(connection, node)
  })

  it('finalizes a running session, and lets a flushing one end', async () => {
    const running = await inState('running')
    running.drain$.next({ pauseWithinMs: 8_000 })
    expect(running.since()).toEqual(['flushed'])
    expect(running.end()).toBe('going-away')
    nothingLeft(running, running.node)

    const flushing = await inState('flushing')
    flushing.drain$.next({ pauseWithinMs: 8_000 })
    expect(flushing.end()).toBeUndefined()
    flushing.node.output$.complete()
    expect(flushing.end()).toBe('ok')
    nothingLeft(flushing, flushing.node)
  })
})

describe('the end of a session by the service', () => {
  const outcomeOf = async (limits: Partial<SessionLimits>, act: (connection: DataflowConnection) => void) => {
    const outcomes: string[] = []
    const monitor = {
      ...noopMonitor,
      sessionEnded: (_facts: unknown, { outcome, code }: SessionEnd) => outcomes.push(`${outcome} ${code}`),
    }
    const watch = new SessionWatch({ monitor, interface: 'grpc', peer: '', now: () => 0 })
    const connection = connectDataflow(scriptedNode().open, limits, undefined, false, watch)
    connection.send(start())
    await flushPromises()
    act(connection)
    expect(connection.end()).toBe('going-away')
    return outcomes
  }

  it('is drained for the operator if the service closes, and not after the longest duration', async () => {
    expect(await outcomeOf({}, ({ drain$ }) => drain$.next({ pauseWithinMs: 8_000 }))).toEqual(['drained undefined'])
    // Its listener reports that it has completed.
    expect(await outcomeOf({ maxSessionMs: 1_000 }, ({ clock }) => clock.advanceTo(1_000))).toEqual([])
  })
})

describe('a token that is no longer valid', () => {
  const revoked = new SpeechError('unauthenticated', 'The token was revoked.')

  it.each(['running', 'flushing'] as const)(
    'ends a session that is %s immediately, with its status and without a flush',
    async (state) => {
      const connection = await inState(state)
      const { finished } = connection.node.account
      connection.ended$.next(revoked)
      expect([connection.since(), connection.end(), connection.node.account.finished]).toEqual([
        [],
        'unauthenticated',
        finished,
      ])
      nothingLeft(connection, connection.node)
      expect(connection.ended$.observed).toBe(false)
    },
  )

  it('refuses a Start whose project is being opened', async () => {
    const node = scriptedNode()
    const opening = deferred<undefined>()
    const connection = connectDataflow(async (context) => {
      await opening.promise
      return node.open(context)
    })
    connection.send(start())
    await flushPromises()
    connection.ended$.next(revoked)
    expect([connection.since(), connection.end()]).toEqual([['Start: unauthenticated'], 'unauthenticated'])
    opening.resolve(undefined)
    await flushPromises()
    nothingLeft(connection, node)
  })
})
