import { happeningsOf } from '../client/happenings.js'
import { asyncScheduler, concat, lastValueFrom, NEVER, of, Subject, toArray } from 'rxjs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { recognize } from '../../src/client/recognizer/recognize-in-browser.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import type { SocketMessage } from '../../src/transport/link.js'
import { audio, format, plainRecognizer, scriptedService } from '../client/virtual-session.js'

const parts = '../../src/client/recognizer/browser-parts.js'
const newSession = (more: Partial<Parameters<typeof recognize>[0]> = {}) => {
  const service = scriptedService<SocketMessage>(asyncScheduler, [plainRecognizer(0)])
  const options = { url: 'ws://localhost', token: 't', model: 'm', format, testing: { dial: service.dial }, ...more }
  return { service, session: recognize(options) }
}
const statesOf = (events: readonly SessionEvent[]): readonly string[] => events.flatMap((event) => happeningsOf(event))

describe('recognize in a browser, whose first connection loads its modules', () => {
  afterEach(() => {
    vi.doUnmock(parts)
  })

  it('buffers the audio that arrives meanwhile, and sends all of it', async () => {
    const { service, session } = newSession()
    const events$ = session(concat(of(audio(20)), of(audio(40)))).pipe(toArray())
    const events = await lastValueFrom(events$)
    expect(statesOf(events)).toEqual(['authorizing', 'connecting', 'starting', 'streaming', 'finalizing', 'done'])
    expect(events).toContainEqual(expect.objectContaining({ type: 'final', text: 'hello' }))
    const received = service.received.map((message) => message.replace(/^\d+ /, ''))
    expect(received).toEqual(['recognize', 'audio 20', 'audio 40', 'finalize-recognition', 'end'])
  })

  it('is stopped before it has connected by a stop that arrives meanwhile', async () => {
    const stop$ = new Subject<void>()
    const { service, session } = newSession({ stop$ })
    const events = lastValueFrom(session(NEVER).pipe(toArray()))
    stop$.next()
    expect(statesOf(await events)).toEqual(['authorizing', 'connecting', 'stopped'])
    await import('../../src/client/recognizer/browser-parts.js')
    expect(service.dials.made).toBe(0)
  })

  it('fails immediately with connection-failed if the modules cannot be loaded', async () => {
    vi.doMock(parts, () => {
      throw new TypeError('Failed to fetch')
    })
    vi.resetModules()
    const fresh = await import('../../src/client/recognizer/recognize-in-browser.js')
    const dial = vi.fn()
    const session = fresh.recognize({ url: 'ws://localhost', token: 't', model: 'm', format, testing: { dial } })
    await expect(lastValueFrom(session(NEVER))).rejects.toMatchObject({ code: 'connection-failed' })
    expect(dial).not.toHaveBeenCalled()
  })
})
