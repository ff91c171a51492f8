import { EMPTY, NEVER, Subject, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isSpeechError, SpeechError } from '../../src/errors/speech-error.js'
import { scriptedDial } from '../../src/testing/scripted-dial.js'
import type { Link } from '../../src/transport/link.js'
import { marbles } from '../operators/marbles.js'

const connect = (
  dial: ReturnType<typeof scriptedDial<string, string>>,
): { link: Link<string, string>; log: string[] } => {
  const log: string[] = []
  const links: Link<string, string>[] = []
  dial().subscribe((link) => links.push(link))
  const [link] = links
  if (link === undefined) throw new Error('no link')
  link.incoming$.subscribe({
    next: (value) => log.push(value),
    complete: () => log.push('complete'),
    error: (error: unknown) => log.push(isSpeechError(error) ? error.code : 'junk'),
  })
  return { link, log }
}

describe('a scripted dial', () => {
  it('emits the messages of the script at their times, delivers those of the client, and releases both on unsubscribe', () => {
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const script$ = cold('--a-b', { a: 'hi', b: 'there' })
      const received$ = new Subject<string>()
      const dial = scriptedDial<string, string>((peer) => {
        peer.received$.subscribe(received$)
        return script$
      })
      const links: Link<string, string>[] = []
      const subscription = dial().subscribe((link) => links.push(link))
      const incoming$ = links[0]?.incoming$ ?? EMPTY
      hot('---x').subscribe(() => links[0]?.send('yes'))
      hot('-----x').subscribe(() => subscription.unsubscribe())
      expectObservable(incoming$).toBe('--a-b|', { a: 'hi', b: 'there' })
      expectObservable(received$).toBe('---y-|', { y: 'yes' })
      expectSubscriptions(script$.subscriptions).toBe('^----!')
    })
  })

  it('ends normally with the script, and with its error', () => {
    expect(connect(scriptedDial(() => EMPTY)).log).toEqual(['complete'])
    expect(connect(scriptedDial(() => throwError(() => new SpeechError('overloaded', 'Full.')))).log).toEqual([
      'overloaded',
    ])
    expect(connect(scriptedDial(() => throwError(() => new Error('junk')))).log).toEqual(['internal'])
  })

  it('is a new connection for each subscription, and congested by a script that does not read', () => {
    let connections = 0
    const dial = scriptedDial<string, string>(
      () => {
        connections += 1
        return NEVER
      },
      { highWaterMarkBytes: 3 },
    )
    const { link } = connect(dial)
    link.send('abcd')
    expect(link.isCongested).toBe(true)
    expect(connect(dial).link.isCongested).toBe(false)
    expect(connections).toBe(2)
  })

  it('errors with what the script throws', () => {
    const errors: unknown[] = []
    scriptedDial<string, string>(() => {
      throw new SpeechError('overloaded', 'Full.')
    })().subscribe({ error: (error: unknown) => errors.push(isSpeechError(error) && error.code) })
    expect(errors).toEqual(['overloaded'])
  })
})
