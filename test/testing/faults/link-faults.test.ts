import { EMPTY, map, mergeMap, NEVER, of, Subject, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isSpeechError } from '../../../src/errors/speech-error.js'
import { faultMarbles } from '../../../src/testing/faults/fault-marbles.js'
import type { FaultScript } from '../../../src/testing/faults/fault-script.js'
import { linkFaults, type LinkFaultsOptions } from '../../../src/testing/faults/link-faults.js'
import { scriptedDial } from '../../../src/testing/scripted-dial.js'
import type { Link } from '../../../src/transport/link.js'
import { codeThrownBy, marbles, type MarbleHelpers } from '../../operators/marbles.js'

type Message = string | Uint8Array

/** A link with faults to a peer that emits the given messages. */
const play = (
  { scheduler }: Pick<MarbleHelpers, 'scheduler'>,
  options: LinkFaultsOptions,
  messages$: Observable<Message> = NEVER,
) => {
  const received$ = new Subject<Message>()
  const faults = linkFaults({ scheduler, ...options })
  const dial = scriptedDial<Message, Message>((peer) => {
    peer.received$.subscribe(received$)
    return messages$
  })
  return { faults, dial: faults.wrap(dial), received$ }
}

const codes = (log: string[]) => ({
  error: (error: unknown) => log.push(isSpeechError(error) ? error.code : 'junk'),
})

describe('faults on a link', () => {
  it('pass everything on immediately without faults', () => {
    marbles(({ cold, hot, expectObservable, scheduler }) => {
      const { dial, received$ } = play({ scheduler }, {}, cold('--a-b|'))
      let link: Link<Message, Message> | undefined
      dial().subscribe((value) => (link = value))
      hot('-x-y').subscribe((value) => link?.send(value))
      expectObservable(link?.incoming$ ?? NEVER).toBe('--a-b|')
      expectObservable(received$).toBe('-x-y-|')
    })
  })

  it('break at a time of the script, and refuse connections during an outage', () => {
    marbles(({ cold, expectObservable, scheduler }) => {
      const { dial } = play({ scheduler }, { script: faultMarbles('--r--o 10ms |') }, cold('-a-b-c-'))
      const attempt = (): Observable<Message> => dial().pipe(mergeMap((link) => link.incoming$))
      const lost = expect.objectContaining({ code: 'connection-lost' }) as unknown
      const refused = expect.objectContaining({ code: 'connection-failed' }) as unknown
      expectObservable(attempt()).toBe('-a#', undefined, lost)
      expectObservable(attempt(), '---^').toBe('----a#', undefined, lost)
      expectObservable(attempt(), '------^').toBe('------#', undefined, refused)
      expectObservable(attempt(), '20ms ^').toBe('20ms -a-b-c-')
    })
  })

  it('delay in order, and count delayed bytes as buffered', () => {
    marbles(({ cold, hot, expectObservable, scheduler }) => {
      const { faults, dial, received$ } = play({ scheduler }, {}, cold('a---b-'))
      faults.apply({ do: 'delay', delayMs: 5, direction: 'to-service' })
      faults.apply({ do: 'delay', delayMs: 3, direction: 'to-client' })
      let link: Link<Message, Message> | undefined
      dial().subscribe((value) => (link = value))
      hot('xy').subscribe((value) => link?.send(value))
      hot('--x').subscribe(() => expect(link?.bufferedBytes).toBe(2))
      expectObservable(link?.incoming$ ?? NEVER).toBe('---a---b-')
      expectObservable(received$).toBe('-----xy')
    })
  })

  it('break after an exact amount of audio, ignoring texts', () => {
    marbles(({ hot, expectObservable, scheduler }) => {
      const audioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
      const script = [{ at: { when: 'audio', ms: 3 }, fault: { do: 'reset' } }] as const
      const { dial, received$ } = play({ scheduler }, { script, audioFormat })
      let link: Link<Message, Message> | undefined
      dial().subscribe((value) => (link = value))
      const ms = new Uint8Array(16)
      hot('ta-a-a-a-a', { t: 'text that is no audio', a: ms }).subscribe((value) => link?.send(value))
      const lost = expect.objectContaining({ code: 'connection-lost' }) as unknown
      expectObservable(received$).toBe('ta-a-(a#)', { t: 'text that is no audio', a: ms }, lost)
    })
  })

  it('reset a half-open connection only after its time', () => {
    marbles(({ cold, hot, expectObservable, scheduler }) => {
      const script = [{ at: { when: 'elapsed', ms: 2 }, fault: { do: 'half-open', forMs: 20 } }] as const
      const { dial, received$ } = play({ scheduler }, { script }, cold('-a-b-c-|'))
      let link: Link<Message, Message> | undefined
      dial().subscribe((value) => (link = value))
      hot('-x-y').subscribe((value) => link?.send(value))
      const lost = expect.objectContaining({ code: 'connection-lost' }) as unknown
      expectObservable(link?.incoming$ ?? NEVER).toBe('-a 20ms #', undefined, lost)
      expectObservable(received$).toBe('-x-----|')
    })
  })

  it('buffer during a stall, so that the link is congested', () => {
    marbles(({ hot, expectObservable, scheduler }) => {
      const { dial, received$, faults } = play({ scheduler }, { script: faultMarbles('-s 9ms |') })
      let link: Link<Message, Message> | undefined
      dial().subscribe((value) => (link = value))
      const big = new Uint8Array(300_000)
      hot('--b', { b: big }).subscribe((value) => link?.send(value))
      hot('---x').subscribe(() => expect(link?.isCongested).toBe(true))
      expectObservable(received$.pipe(map(({ length }) => length))).toBe('11ms b', { b: big.length })
      hot('12ms x').subscribe(() => {
        expect(link?.isCongested).toBe(false)
        expect(faults.applied.map(({ atMs }) => atMs)).toEqual([1, 11])
      })
    })
  })

  it('corrupt, duplicate and inject messages', () => {
    marbles(({ cold, expectObservable, scheduler }) => {
      const { dial } = play(
        { scheduler },
        {
          script: faultMarbles('-c-d----i', { legend: { i: { do: 'inject', message: '{' } } }),
        },
        cold('--a-a-', { a: 'abc' }),
      )
      expectObservable(dial().pipe(mergeMap((link) => link.incoming$))).toBe('--b-(aa)i', {
        b: 'a\u0000c',
        a: 'abc',
        i: '{',
      })
    })
    marbles(({ expectObservable, scheduler }) => {
      const legend = { i: { do: 'inject', message: '{' } } as const
      const { dial } = play({ scheduler }, { script: faultMarbles('--i', { legend }) })
      expectObservable(dial().pipe(mergeMap((link) => link.incoming$))).toBe('--i', { i: '{' })
    })
  })

  it('refuse the next connections with the given code, and count them', () => {
    marbles(({ scheduler }) => {
      const { dial, faults } = play({ scheduler }, {})
      faults.apply({ do: 'refuse', connections: 2, code: 'unauthenticated' })
      const log: string[] = []
      for (let count = 0; count < 3; count += 1) dial().subscribe({ next: () => log.push('open'), ...codes(log) })
      expect(log).toEqual(['unauthenticated', 'unauthenticated', 'open'])
      expect(faults.connections).toBe(3)
    })
  })

  it('have the same jitter for the same seed', () => {
    const arrivals = (seed: number): readonly number[] => {
      const times: number[] = []
      marbles(({ cold, scheduler, flush }) => {
        const { dial, faults } = play({ scheduler }, { seed }, cold('a-b-c-d-e-f'))
        faults.apply({ do: 'delay', delayMs: 10, jitterMs: 50 })
        dial()
          .pipe(mergeMap((link) => link.incoming$))
          .subscribe(() => times.push(scheduler.now()))
        flush()
      })
      return times
    }
    expect(arrivals(7)).toHaveLength(6)
    expect(arrivals(7)).toEqual(arrivals(7))
    expect(arrivals(7)).not.toEqual(arrivals(8))
    expect(arrivals(7)).toEqual([...arrivals(7)].sort((a, b) => a - b))
  })

  it('pass on the signal that a connection is about to end', () => {
    const log: string[] = []
    const dial = scriptedDial<Message, Message>(() => NEVER)
    const leaving = () => dial().pipe(map((link) => Object.assign(link, { leaving$: of(undefined) })))
    linkFaults()
      .wrap(leaving)()
      .pipe(mergeMap((link) => link.leaving$ ?? EMPTY))
      .subscribe(() => log.push('leaving'))
    expect(log).toEqual(['leaving'])
  })

  it('reject a script for bytes, an unknown moment or fault, and moments of audio without a format', () => {
    const bytes = [{ at: { when: 'bytes', direction: 'to-client', count: 1 }, fault: { do: 'reset' } }] as const
    expect(codeThrownBy(() => linkFaults({ script: bytes }))).toBe('invalid-options')
    const unknown = [{ at: { when: 'soon', name: 'now' }, fault: { do: 'reset' } }] as unknown as FaultScript
    expect(codeThrownBy(() => linkFaults({ script: unknown }))).toBe('invalid-options')
    const misspelled = [{ at: { when: 'elapsed', ms: 1 }, fault: { do: 'rest' } }] as unknown as FaultScript
    expect(codeThrownBy(() => linkFaults({ script: misspelled }))).toBe('invalid-options')
    expect(codeThrownBy(() => linkFaults({ script: [{ at: { when: 'audio', ms: 1 }, fault: { do: 'reset' } }] }))).toBe(
      'invalid-options',
    )
    expect(codeThrownBy(() => linkFaults().apply({ do: 'slice', bytes: 3 }))).toBe('invalid-options')
    expect(codeThrownBy(() => linkFaults().apply({ do: 'delay', delayMs: NaN }))).toBe('invalid-options')
  })

  const reset = { do: 'reset' }
  const now = { when: 'elapsed', ms: 0 }
  it.each([
    [{ at: { when: 'messages', direction: 'to-client' }, fault: reset }, 'at.count must be a whole number from 1.'],
    [{ at: { when: 'messages', count: 1 }, fault: reset }, 'at.direction must be "to-service" or "to-client".'],
    [{ at: { when: 'elapsed', ms: 1, count: 1 }, fault: reset }, 'at.count is not known; there are when, ms.'],
    [{ at: { when: 'audio' }, fault: reset }, 'at.ms must be a number from 0.'],
    [{ at: { when: 'signal' }, fault: reset }, 'at.name must be a string.'],
    [
      { at: { when: 'soon' }, fault: reset },
      'at.when must be "elapsed", "connection", "bytes", "messages", "audio" or "signal".',
    ],
    [{ at: now }, 'fault must be an object with do.'],
    [{ at: now, fault: { do: 'stall', direction: 'up' } }, 'fault.direction must be "to-service" or "to-client".'],
    [{ at: now, fault: { do: 'outage', by: 'magic' } }, 'fault.by must be "reset" or "refuse".'],
    [{ at: now, fault: { do: 'outage', forMS: 1 } }, 'fault.forMS is not known; did you mean forMs?'],
    [{ at: now, fault: { do: 'refuse', connections: 1, code: 'nonsense' } }, 'fault.code must be an error code.'],
    [{ at: now, fault: reset, note: 'x' }, 'note is not known; there are at, fault.'],
  ])('reject a step that could never apply, and name its part: %j', (step, problem) => {
    const script = [{ at: now, fault: reset }, step] as unknown as FaultScript
    expect(() => linkFaults({ script, audioFormat: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } })).toThrow(
      expect.objectContaining({
        code: 'invalid-options',
        message: `Step 2 of the fault script cannot be applied: ${problem}`,
      }),
    )
  })

  it('reject a script that is no list', () => {
    const script = { at: now, fault: reset } as unknown as FaultScript
    expect(() => linkFaults({ script })).toThrow('script must be a list of steps, each with at and fault.')
  })
})
