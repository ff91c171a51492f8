import { VirtualTimeScheduler } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { Heartbeat, type HeartbeatTarget } from '../../../src/transport/websocket/node-link.js'
import { FakeNodeSocket } from './fake-node-socket.js'

const everyMs = 100

/** The latest time of the clock, for a heartbeat that never ends. */
const endMs = 3_000

/** A heartbeat that is stopped after a second; `standStill` advances its clock like a blocked process. */
const beating = (target: Partial<HeartbeatTarget> = {}) => {
  const scheduler = new VirtualTimeScheduler(undefined, endMs)
  const frameMs = scheduler.now
  let stoodStillMs = 0
  scheduler.now = () => frameMs() + stoodStillMs
  const socket = new FakeNodeSocket()
  const deadAtMs: number[] = []
  const onDead = (): void => void deadAtMs.push(frameMs())
  const all: HeartbeatTarget = { isReadPaused: () => false, takenBytes: () => 0, onDead, ...target }
  const heartbeat = new Heartbeat(socket, everyMs, scheduler, all)
  scheduler.schedule(() => heartbeat.stop(), 1_050)
  return {
    socket,
    at: (atMs: number, act: () => void) => scheduler.schedule(act, atMs),
    standStill: (forMs: number) => (stoodStillMs += forMs),
    silent: () => {
      scheduler.flush()
      expect(scheduler.actions, 'timers that are left').toEqual([])
      return deadAtMs
    },
  }
}

describe('the heartbeat', () => {
  it('pings once per period while it is answered, and no more after it is stopped', () => {
    const { socket, silent } = beating()
    expect(silent()).toEqual([])
    expect(socket.pings).toBe(10)
  })

  it.each([
    [99, []],
    [101, [200]],
  ])('accepts an answer within a period, such as after %d ms: %j', (afterMs, silentAt) => {
    const { socket, at, silent } = beating()
    socket.answers = false
    for (let pingAtMs = everyMs; pingAtMs < 1_000; pingAtMs += everyMs) at(pingAtMs + afterMs, () => socket.answer())
    expect(silent()).toEqual(silentAt)
  })

  it('does not judge a peer by a period in which this process was blocked, but by the next', () => {
    const { socket, at, standStill, silent } = beating()
    at(90, () => (socket.answers = false))
    at(150, () => standStill(everyMs))
    expect(silent()).toEqual([300])
  })

  it('keeps a peer whose answer was queued while this process was blocked', () => {
    const { socket, at, standStill, silent } = beating()
    at(90, () => (socket.answers = false))
    at(150, () => standStill(10 * everyMs))
    at(190, () => (socket.answers = true))
    expect(silent()).toEqual([])
  })

  it('treats a timer that is slightly late as on time', () => {
    const { socket, at, standStill, silent } = beating()
    at(90, () => (socket.answers = false))
    at(150, () => standStill(everyMs / 2))
    expect(silent()).toEqual([200])
  })

  it('does not judge a peer whose reading was paused after the ping', () => {
    let rests = false
    const { socket, at, silent } = beating({ isReadPaused: () => rests })
    at(90, () => (socket.answers = false))
    at(150, () => (rests = true))
    at(950, () => {
      rests = false
      socket.answers = true
    })
    expect(silent()).toEqual([])
  })

  it('does not treat bytes that were sent immediately as a sign of life: the network buffers many for a lost peer', () => {
    let taken = 0
    const { socket, at, silent } = beating({ takenBytes: () => taken })
    socket.answers = false
    for (let atMs = 10; atMs < 1_000; atMs += 20) at(atMs, () => (taken += 320))
    expect(silent()).toEqual([200])
  })

  it('treats a peer as dead that accepted bytes once, and none since', () => {
    let taken = 0
    const { socket, at, silent } = beating({ takenBytes: () => taken })
    socket.bufferedAmount = 1_000
    socket.answers = false
    at(50, () => (taken = 500))
    at(150, () => (taken = 600))
    expect(silent()).toEqual([300])
  })
})
