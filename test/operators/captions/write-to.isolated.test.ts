import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { concat, config, NEVER, of, Subject, throwError, type Observable } from 'rxjs'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { isSpeechError, SpeechError } from '../../../src/errors/speech-error.js'
import { toSrt, toWebVtt } from '../../../src/operators/captions/caption-files.js'
import { toCaptions } from '../../../src/operators/captions/to-captions.js'
import { writeTo as inBrowser } from '../../../src/operators/captions/write-to-in-browser.js'
import type { WriteToOptions } from '../../../src/operators/captions/write-to-options.js'
import { writeTo } from '../../../src/operators/captions/write-to.js'
import { folderOfTest } from '../../temporary-folder.js'
import { codeThrownBy, marbles } from '../marbles.js'
import { wordsOf } from '../session-events.js'

/** A disk with limited space. */
const disk = vi.hoisted(() => ({ freeBytes: Infinity, writes: 0 }))

vi.mock(import('node:fs'), async (importOriginal) => {
  const original = await importOriginal()
  const writeSync = ((descriptor: number, bytes: Uint8Array, at: number, length: number, position: number) => {
    disk.writes += 1
    if (disk.freeBytes <= 0) throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' })
    const written = original.writeSync(descriptor, bytes, at, Math.min(length, disk.freeBytes), position)
    disk.freeBytes -= written
    return written
  }) as typeof original.writeSync
  return { ...original, writeSync }
})

let folder = ''
let path = ''
beforeEach(() => {
  folder = folderOfTest()
  path = join(folder, 'call.vtt')
  Object.assign(disk, { freeBytes: Infinity, writes: 0 })
})
const content = (file = path): string => readFileSync(file, 'utf8')

/** What the stream emits, and what is in the file at that moment. */
const run = (text$: Observable<string>, options?: WriteToOptions) => {
  const seen: string[] = []
  const subscription = text$.pipe(writeTo(path, options)).subscribe({
    next: (text) => seen.push(`${text} in ${content()}`),
    error: (error: unknown) => seen.push(`error ${isSpeechError(error) ? error.code : 'other'}`),
    complete: () => seen.push('complete'),
  })
  return { seen, subscription }
}
const collecting = () => {
  const errors: SpeechError[] = []
  return { errors, onError: (error: SpeechError) => void errors.push(error) }
}

describe('writeTo', () => {
  it('emits a text when it is in the file, and completes with its source', () => {
    expect(run(of('a', 'b')).seen).toEqual(['a in a', 'b in ab', 'complete'])
    expect(content()).toBe('ab')
    expect(disk.writes).toBe(2)
  })

  it('passes an error on, after the texts before it', () => {
    const { seen } = run(
      concat(
        of('a'),
        throwError(() => new SpeechError('connection-lost', 'It broke.')),
      ),
    )
    expect(seen).toEqual(['a in a', 'error connection-lost'])
    expect(content()).toBe('a')
  })

  it('emits at the time of the source, and unsubscribes with its consumer', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-c-|')
      expectObservable(source$.pipe(writeTo(path)), '^---!').toBe('-a-b')
      expectSubscriptions(source$.subscriptions).toBe('^---!')
    })
    expect(content()).toBe('ab')
  })

  it('writes each further subscription to a file of its own', () => {
    const written$ = of('a', 'b').pipe(writeTo(path))
    written$.subscribe()
    written$.subscribe()
    expect(readdirSync(folder)).toEqual(['call-2.vtt', 'call.vtt'])
    expect([content(), content(join(folder, 'call-2.vtt'))]).toEqual(['ab', 'ab'])
  })

  it('keeps the order of texts that a consumer causes', () => {
    const text$ = new Subject<string>()
    text$.pipe(writeTo(path)).subscribe((text) => text === 'a' && text$.next('b'))
    text$.next('a')
    text$.next('c')
    expect(content()).toBe('abc')
  })

  it('creates an empty file for its owner at once, and replaces one that is there in one step', () => {
    run(NEVER)
    expect([content(), statSync(path).mode & 0o777]).toEqual(['', 0o600])
    writeFileSync(path, 'old')
    const before = statSync(path).ino
    run(of('WEBVTT\n\n'))
    expect(content()).toBe('WEBVTT\n\n')
    expect(statSync(path).ino).not.toBe(before)
    expect(readdirSync(folder)).toEqual(['call.vtt'])
  })

  it('replaces the file that a link names, and not the link', () => {
    const target = join(folder, 'target.vtt')
    writeFileSync(target, 'old')
    symlinkSync(target, path)
    run(of('new'))
    expect(content(target)).toBe('new')
  })

  it.each([
    ['vtt', toWebVtt, /^WEBVTT\n\n(?:\d+\n[\d:.]{12} --> [\d:.]{12}\n.+\n\n)*$/],
    ['srt', toSrt, /^(?:\d+\n[\d:,]{12} --> [\d:,]{12}\n.+\n\n)*$/],
  ])('has a valid .%s file after each event of a session', (_format, write, valid) => {
    const event$ = new Subject<ReturnType<typeof wordsOf>>()
    const writing = event$.pipe(toCaptions(), write(), writeTo(path)).subscribe()
    const lengths = ['good morning', ' how are you', ' see you soon'].map((text, at) => {
      event$.next(wordsOf(text, at * 4000))
      expect(content()).toMatch(valid)
      return content().length
    })
    writing.unsubscribe()
    expect(content()).toMatch(valid)
    expect(content()).toContain('how are you')
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b))
  })
})

describe('writeTo on a disk that becomes full', () => {
  it('removes what was written in part, continues, and writes what waited when there is space', () => {
    const { errors, onError } = collecting()
    const text$ = new Subject<string>()
    const { seen } = run(text$, { onError })
    text$.next('one ')
    disk.freeBytes = 2
    text$.next('two ')
    text$.next('three ')
    expect(content()).toBe('one ')
    expect(errors.map(({ code, message }) => `${code}: ${message}`)).toEqual([
      `write-failed: ${path} cannot be written (ENOSPC); check its folder and the disk.`,
    ])
    disk.freeBytes = Infinity
    text$.next('four')
    expect(content()).toBe('one two three four')
    expect(seen.map((text) => text.split(' ')[0])).toEqual(['one', 'two', 'three', 'four'])
    disk.freeBytes = 0
    text$.next('five')
    expect(errors).toHaveLength(2)
  })

  it('makes a last attempt at the end and when it is unsubscribed', () => {
    for (const end of ['complete', 'unsubscribe'] as const) {
      disk.freeBytes = Infinity
      const text$ = new Subject<string>()
      const { subscription } = run(text$, { onError: () => undefined })
      text$.next('one ')
      disk.freeBytes = 0
      text$.next('two')
      disk.freeBytes = Infinity
      if (end === 'complete') text$.complete()
      else subscription.unsubscribe()
      expect(content()).toBe('one two')
    }
  })

  it('says how many texts are missing in the end', () => {
    const { errors, onError } = collecting()
    disk.freeBytes = 3
    expect(run(of('one', 'two', 'three'), { onError }).seen).toEqual(['one in one', 'complete'])
    expect(errors.map(({ message }) => message)).toEqual([
      `${path} cannot be written (ENOSPC); check its folder and the disk.`,
      `${path} lacks 2 texts that could not be written in time; check its folder and the disk.`,
    ])
  })

  it('keeps at most 1 MiB of texts that wait', () => {
    const { errors, onError } = collecting()
    const text$ = new Subject<string>()
    run(text$, { onError })
    disk.freeBytes = 0
    for (let at = 0; at < 20; at += 1) text$.next('x'.repeat(100_000))
    disk.freeBytes = Infinity
    text$.next('end')
    expect(content()).toHaveLength(10 * 100_000 + 3)
    expect(errors.at(-1)?.message).toContain('lacks 10 texts')
  })

  it('fails with the error if it is asked to, and leaves a valid file', () => {
    disk.freeBytes = 3
    expect(run(of('one', 'two', 'three'), { onError: 'end' }).seen).toEqual(['one in one', 'error write-failed'])
    expect(content()).toBe('one')
  })

  it('warns by default, and continues', async () => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    disk.freeBytes = 0
    expect(run(of('one')).seen).toEqual(['complete'])
    expect((await warned).message).toContain('cannot be written (ENOSPC)')
  })
})

describe('writeTo a path that cannot be written', () => {
  it('names a missing folder, and writes all texts as soon as it is there', () => {
    const { errors, onError } = collecting()
    path = join(folder, 'none', 'call.vtt')
    const text$ = new Subject<string>()
    run(text$, { onError })
    expect(errors[0]?.message).toBe(`${path} cannot be written (ENOENT); check its folder and the disk.`)
    text$.next('one ')
    mkdirSync(join(folder, 'none'))
    text$.next('two')
    expect(content()).toBe('one two')
  })

  it('refuses what is no regular file', () => {
    const { errors, onError } = collecting()
    mkdirSync(path)
    run(NEVER, { onError })
    expect(errors[0]?.message).toContain('it is no regular file')
    rmdirSync(path)
    path = '/dev/null'
    run(NEVER, { onError })
    expect(errors[1]?.message).toContain('it is no regular file')
  })

  it('reports an exception of onError, and continues', async () => {
    const reported: unknown[] = []
    config.onUnhandledError = (error) => reported.push(error)
    const onError = (): void => {
      throw new Error('of onError')
    }
    disk.freeBytes = 0
    expect(run(of('one'), { onError }).seen).toEqual(['complete'])
    await expect.poll(() => reported).toEqual([new Error('of onError'), new Error('of onError')])
    config.onUnhandledError = null
  })
})

describe('writeTo of a page', () => {
  it('says that a page has no files', () => {
    expect(codeThrownBy(() => inBrowser('call.vtt'))).toBe('invalid-options')
  })
})

it('refuses invalid options', () => {
  expect(codeThrownBy(() => writeTo(''))).toBe('invalid-options')
  expect(codeThrownBy(() => writeTo('x', { onError: 'stop' } as unknown as WriteToOptions))).toBe('invalid-options')
})
