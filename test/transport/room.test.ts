import { TestScheduler } from 'rxjs/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { Room } from '../../src/transport/room.js'

const limits = { highWaterMarkBytes: 100, lowWaterMarkBytes: 25 }

describe('Room', () => {
  let bufferedBytes = 0
  beforeEach(() => {
    bufferedBytes = 0
  })
  const roomOf = (): Room => new Room(() => bufferedBytes, limits)

  it('is congested above the high-water mark', () => {
    const room = roomOf()
    bufferedBytes = 100
    expect(room.congested).toBe(false)
    bufferedBytes = 101
    expect(room.congested).toBe(true)
  })

  it('tells each who waits once, when the low-water mark is reached', () => {
    const room = roomOf()
    const seen: string[] = []
    bufferedBytes = 101
    room.room.subscribe({ next: () => seen.push('one'), complete: () => seen.push('done') })
    room.room.subscribe(() => seen.push('two'))
    bufferedBytes = 26
    room.update()
    expect(seen).toEqual([])
    bufferedBytes = 25
    room.update()
    room.update()
    expect(seen).toEqual(['one', 'done', 'two'])
  })

  it('tells at once when there is room now', () => {
    const seen: string[] = []
    roomOf().room.subscribe(() => seen.push('room'))
    expect(seen).toEqual(['room'])
  })

  it('does not tell who has left', () => {
    const room = roomOf()
    const seen: string[] = []
    bufferedBytes = 101
    room.room.subscribe(() => seen.push('room')).unsubscribe()
    bufferedBytes = 0
    room.update()
    expect(seen).toEqual([])
  })

  it('lets a sender fill up again and wait again within the telling', () => {
    const room = roomOf()
    const seen: string[] = []
    const waitAgain = (): void => {
      bufferedBytes = 101
      room.room.subscribe(() => seen.push('second'))
    }
    bufferedBytes = 101
    room.room.subscribe(() => {
      seen.push('first')
      waitAgain()
    })
    bufferedBytes = 0
    room.update()
    expect(seen).toEqual(['first'])
    bufferedBytes = 0
    room.update()
    expect(seen).toEqual(['first', 'second'])
  })

  it('tells everyone and is never congested once the link has ended', () => {
    const room = roomOf()
    const seen: string[] = []
    bufferedBytes = 101
    room.room.subscribe(() => seen.push('before'))
    room.end()
    room.room.subscribe(() => seen.push('after'))
    expect(seen).toEqual(['before', 'after'])
    expect(room.congested).toBe(false)
  })

  it('asks a platform that does not tell every 20 ms, and only while somebody waits', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected))
    scheduler.run(({ expectObservable }) => {
      let asked = 0
      const room = new Room(
        () => {
          asked += 1
          return scheduler.now() < 50 ? 101 : 0
        },
        limits,
        scheduler,
      )
      expectObservable(room.room).toBe('60ms (r|)', { r: undefined })
      scheduler.schedule(() => expect(asked).toBe(4), 500)
    })
  })
})
