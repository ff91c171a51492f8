import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { OpenNode } from '../../../src/service/nodes/core/node.js'
import { turn } from '../virtual-clock.js'
import { dataflowTalk, event, inState, nothingLeft, scriptedNode, start, states, vanish } from './dataflow-talk.js'
import { deferred } from '../sessions/talk.js'

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

  it('releases a place that is granted only after openWithinMs', async () => {
    const node = scriptedNode()
    const admitted = deferred<undefined>()
    const one = dataflowTalk(node.open, {}, () => admitted.promise)
    one.say(start())
    await turn()
    one.clock.advanceTo(30_000)
    expect([one.since(), one.end()]).toEqual([['Start: engine-failed'], 'engine-failed'])
    admitted.resolve(undefined)
    await turn()
    nothingLeft(one, node)
  })

  it('ends the wait for the last results of a node before flushWithinMs, with an error that names the node', async () => {
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
  it('refuses a stream without a Start', async () => {
    const one = await inState('opened')
    one.drain$.next({ pauseWithinMs: 8_000 })
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
    one.drain$.next({ pauseWithinMs: 8_000 })
    admitted.resolve(undefined)
    await turn()
    expect(one.since()).toEqual(['Start: going-away'])
    expect(one.end()).toBe('going-away')
    nothingLeft(one, node)
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
    flushing.node.says$.complete()
    expect(flushing.end()).toBe('ok')
    nothingLeft(flushing, flushing.node)
  })
})

describe('a token that is no longer valid', () => {
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

  it('refuses a Start whose project is being opened', async () => {
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
