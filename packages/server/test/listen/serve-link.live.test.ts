import { NEVER, Observable, of, Subject, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { refusalText } from '../../../../src/errors/refusal.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { serveLink } from '../../src/listen/serve-link.js'
import { memoryLinks } from '../../../../src/transport/memory/link.js'

const joined = (conversation: (incoming$: Observable<string>) => Observable<string>) => {
  const [client, service] = memoryLinks<string, string>()
  const received: string[] = []
  const faults: unknown[] = []
  client.incoming$.subscribe({
    next: (message) => received.push(message),
    complete: () => received.push('complete'),
    error: (error: unknown) => received.push(refusalText(error)),
  })
  let over = false
  const session$ = serveLink(service, conversation, { onFault: (error) => faults.push(error) })
  const begin = () =>
    session$.subscribe({
      error: expect.fail,
      complete: () => {
        over = true
      },
    })
  return { client, service, received, faults, begin, over: () => over }
}

describe('a session over a link', () => {
  it('starts when it is subscribed, sends its output, and closes normally', () => {
    let calls = 0
    const connection = joined((incoming$) => {
      calls += 1
      return new Observable((subscriber) => {
        subscriber.next('hello')
        return incoming$.subscribe(subscriber)
      })
    })
    expect(calls).toBe(0)
    connection.begin()
    connection.client.send('echo')
    connection.client.close()
    expect(connection.received).toEqual(['hello', 'echo', 'complete'])
    expect(connection.over()).toBe(true)
  })

  it('closes as the error defines, and reveals nothing of an internal error', () => {
    const named = joined(() => throwError(() => new SpeechError('no-recognition', 'None runs.')))
    named.begin()
    expect(named.received).toEqual(['no-recognition: None runs.'])
    expect(named.over()).toBe(true)
    const inside = joined(() => throwError(() => new Error('/home/service')))
    inside.begin()
    expect(inside.received).toHaveLength(1)
    expect(inside.received[0]).toMatch(/^internal: /)
    expect(inside.received[0]).not.toContain('/home')
    expect(inside.faults).toHaveLength(1)
  })

  it('closes when the function throws', () => {
    const connection = joined(() => {
      throw new TypeError('x')
    })
    connection.begin()
    expect(connection.received[0]).toMatch(/^internal: /)
    expect([connection.over(), connection.faults.length]).toEqual([true, 1])
  })

  it('closes when it is unsubscribed, after the session', () => {
    const order: string[] = []
    const connection = joined(() => new Observable(() => () => order.push('conversation')))
    const session = connection.begin()
    connection.client.incoming$.subscribe({ error: () => undefined })
    session.unsubscribe()
    expect(order).toEqual(['conversation'])
    expect(connection.received).toEqual(['going-away: The service is closing.'])
    expect(connection.over()).toBe(false)
  })

  it('cuts a client that leaves 4 MiB unread, and ignores further output of the session', () => {
    const results$ = new Subject<string>()
    const connection = joined(() => results$)
    connection.begin()
    connection.client.pause()
    const text = 'x'.repeat(1_048_576)
    for (let count = 0; count < 4; count += 1) results$.next(text)
    expect(connection.over()).toBe(false)
    results$.next('x')
    expect([connection.over(), results$.observed]).toEqual([true, false])
    connection.client.resume()
    expect(connection.received).toHaveLength(6)
    expect(connection.received.at(-1)).toMatch(/^overloaded: /)
  })

  it('ends with a client that closes during the delivery of a message', () => {
    const [client, service] = memoryLinks<string, string>()
    client.incoming$.subscribe(() => {
      client.close()
    })
    let torn = 0
    let emitted = 0
    const conversation = (incoming$: Observable<string>): Observable<string> =>
      new Observable((subscriber) => {
        subscriber.add(() => (torn += 1))
        subscriber.add(incoming$.subscribe({ complete: () => subscriber.complete() }))
        for (; emitted < 3 && !subscriber.closed; emitted += 1) subscriber.next('one')
      })
    serveLink(service, conversation).subscribe()
    expect([torn, emitted]).toEqual([1, 1])
  })

  it('never ends by itself', () => {
    const connection = joined(() => NEVER)
    connection.begin().unsubscribe()
    const quiet = joined(() => of('x'))
    quiet.begin()
    expect(quiet.received).toEqual(['x', 'complete'])
  })
})
