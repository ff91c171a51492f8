import { take } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../src/errors/speech-error.js'
import { Inbox } from '../../src/transport/inbox.js'

const recorder = () => {
  const seen: unknown[] = []
  return {
    seen,
    observer: {
      next: (value: unknown) => seen.push(value),
      error: (error: SpeechError) => seen.push(error.code),
      complete: () => seen.push('complete'),
    },
  }
}

const inboxOf = (limitBytes = 1000): Inbox<string> => new Inbox(limitBytes, () => {})

describe('Inbox', () => {
  it('keeps messages and the end until there is a reader', () => {
    const inbox = inboxOf()
    const { seen, observer } = recorder()
    inbox.push('a', 1)
    inbox.finish(new SpeechError('going-away', ''))
    inbox.push('late', 4)
    inbox.incoming$.subscribe(observer)
    expect(seen).toEqual(['a', 'going-away'])
  })

  it('completes for a reader that subscribes after the owner has closed', () => {
    const inbox = inboxOf()
    const { seen, observer } = recorder()
    inbox.push('a', 1)
    inbox.discard()
    inbox.incoming$.subscribe(observer)
    expect(seen).toEqual(['complete'])
    expect(inbox.heldBytes).toBe(0)
  })

  it('delivers messages that a delivery causes in order', () => {
    const inbox = inboxOf()
    const seen: string[] = []
    inbox.incoming$.subscribe((message) => {
      if (message === 'a') {
        inbox.push('b', 1)
        inbox.push('c', 1)
      }
      seen.push(message)
    })
    inbox.push('a', 1)
    expect(seen).toEqual(['a', 'b', 'c'])
  })

  it('delivers the end after the message whose delivery caused it', () => {
    const inbox = inboxOf()
    const { seen, observer } = recorder()
    inbox.incoming$.subscribe({
      ...observer,
      next: (message) => {
        if (message === 'a') inbox.finish()
        seen.push(message)
      },
    })
    inbox.push('a', 1)
    expect(seen).toEqual(['a', 'complete'])
  })

  it('stops between two messages when the reader pauses, and continues after resume', () => {
    const inbox = inboxOf()
    const { seen, observer } = recorder()
    inbox.push('a', 1)
    inbox.push('b', 1)
    inbox.finish()
    inbox.incoming$.subscribe({
      ...observer,
      next: (message) => {
        seen.push(message)
        inbox.pause()
      },
    })
    expect(seen).toEqual(['a'])
    inbox.resume()
    expect(seen).toEqual(['a', 'b', 'complete'])
  })

  it('delivers the end to a paused reader when no message is queued before it', () => {
    const inbox = inboxOf()
    const { seen, observer } = recorder()
    inbox.incoming$.subscribe(observer)
    inbox.pause()
    inbox.finish(new SpeechError('connection-lost', ''))
    expect(seen).toEqual(['connection-lost'])
  })

  it('drops messages after the reader has unsubscribed, and is not full', () => {
    const inbox = inboxOf(1)
    const { seen, observer } = recorder()
    inbox.incoming$.subscribe(observer).unsubscribe()
    inbox.push('a', 100)
    expect(seen).toEqual([])
    expect(inbox.isFull).toBe(false)
  })

  it('stops delivering to a reader that unsubscribes during a delivery', () => {
    const inbox = inboxOf()
    const seen: string[] = []
    inbox.push('a', 1)
    inbox.push('b', 1)
    inbox.incoming$.pipe(take(1)).subscribe((message) => seen.push(message))
    expect(seen).toEqual(['a'])
  })

  it('is full while more is queued than the limit, counting empty messages too', () => {
    const inbox = inboxOf(640)
    for (let count = 0; count < 10; count += 1) inbox.push('', 0)
    expect(inbox.isFull).toBe(false)
    inbox.push('', 0)
    expect(inbox.isFull).toBe(true)
    inbox.incoming$.subscribe()
    expect(inbox.isFull).toBe(false)
  })

  it('delivers a long backlog completely and in order', () => {
    const inbox = new Inbox<number>(0, () => {})
    const seen: number[] = []
    for (let index = 0; index < 5000; index += 1) inbox.push(index, 1)
    expect(inbox.heldBytes).toBe(5000)
    inbox.incoming$.subscribe((index) => seen.push(index))
    expect(seen).toEqual(Array.from({ length: 5000 }, (_, index) => index))
    expect(inbox.heldBytes).toBe(0)
  })
})
