import { wavHeader } from 'rxspeech/audio'
import { describe, expect, it, vi } from 'vitest'
import { Job, type OpenAudio, type OpenedAudio } from '../src/jobs/job.js'
import { Jobs } from '../src/jobs/jobs.js'
import { progressOf, progressSentence } from '../src/jobs/progress.js'
import type { SessionContent } from '../src/library/store.js'
import { AudioTrack } from '../src/session/audio-track.js'
import { TextLog } from '../src/session/text-log.js'
import type { Origin } from '../src/state/transcript.js'
import { optionsFor, preferredModel } from '../src/views/model-order.js'
import { screenOf } from '../src/views/navigation.js'

const account = { capturedMs: 0, finalizedMs: 0, pendingMs: 0, replayedPendingMs: 0, droppedMs: 0, sentMs: 0 }

describe('the progress of a recording', () => {
  it('is the share of its audio that has its text or was lost', () => {
    expect(progressOf({ ...account, finalizedMs: 20_000, droppedMs: 5000 }, 100_000, 5000)).toEqual({
      share: 0.25,
      leftMs: 15_000,
    })
  })

  it('has no time left while the speed is a guess, and never more than all', () => {
    expect(progressOf(undefined, 100_000, 5000)).toEqual({ share: 0, leftMs: undefined })
    expect(progressOf({ ...account, finalizedMs: 50 }, 100, 1000).leftMs).toBeUndefined()
    expect(progressOf({ ...account, finalizedMs: 110 }, 100, 2000)).toEqual({ share: 1, leftMs: 0 })
    expect(progressOf(account, 0, 2000).share).toBe(0)
  })

  it.each([
    [undefined, '38 %'],
    [3000, '38 %, a few seconds left'],
    [41_000, '38 %, about 45 s left'],
    [58_000, '38 %, about 1 min left'],
    [600_000, '38 %, about 10 min left'],
    [7_200_000, '38 %, about 2.0 h left'],
  ])('with %s ms left is the sentence "%s"', (leftMs, sentence) => {
    expect(progressSentence({ share: 0.389, leftMs })).toBe(sentence)
  })
})

/** A job whose audio is read when `opened` says so. */
const jobOf = (title: string, origin: Origin = 'file') => {
  let fail: (error: Error) => void = () => undefined
  let report: (sentence: string) => void = () => undefined
  const signals: AbortSignal[] = []
  const opened = new Promise<OpenedAudio>((_resolve, reject) => {
    fail = reject
  })
  const config = { ws: 'ws://localhost', token: null, models: [], projects: [] }
  const open: OpenAudio = (progress, signal) => {
    report = progress
    signals.push(signal)
    return opened
  }
  const plan = { config, model: { name: 'English', version: '1' }, recognition: {}, token: '', open }
  return { job: new Job({ title, origin }, plan), fail, signals, report: (sentence: string) => report(sentence) }
}

describe('the files of a live session', () => {
  it('stay the same when the browser has a part of them on disk', async () => {
    const job = new Job({ title: 'Microphone', origin: 'microphone' })
    const track = new AudioTrack(8000)
    const run = { tracks: [track], events: new TextLog(), cassette: new TextLog() }
    job.run = run
    const textOf = (blob: Blob | undefined): Promise<string | undefined> => Promise.resolve(blob?.text())
    const grow = (text: string): Promise<SessionContent> => {
      track.add(new TextEncoder().encode(text))
      run.cassette.add(text)
      return job.content()
    }
    const before = await grow('abcd')
    job.moveToDisk({ kind: 'audio', fromBytes: 0, content: new Blob([before.audio?.slice(0, 44) ?? '', 'ABCD']) })
    job.moveToDisk({ kind: 'cassette', fromBytes: 0, content: new Blob(['ABCD\n']) })
    await grow('efgh')
    job.moveToDisk({ kind: 'audio', fromBytes: 48, content: new Blob(['EFGH']) })
    const after = await grow('ijkl')
    expect(await textOf(after.audio?.slice(44))).toBe('ABCDEFGHijkl')
    expect(await textOf(after.cassette)).toBe('ABCD\nefgh\nijkl\n')
  })
})

describe('the sessions of a page', () => {
  it('run two recordings at once, and the next when one has ended in any way', async () => {
    const jobs = new Jobs()
    const [first, second, third, fourth] = [jobOf('1'), jobOf('2'), jobOf('3'), jobOf('4')]
    for (const { job } of [first, second, third, fourth]) jobs.add(job)
    const types = () => jobs.all.map(({ title, status }) => `${title} ${status.type}`)
    expect(types()).toEqual(['4 queued', '3 queued', '2 loading', '1 loading'])
    third.job.cancel()
    first.job.cancel()
    expect(types()).toEqual(['4 loading', '3 cancelled', '2 loading', '1 cancelled'])
    second.fail(new Error('The browser cannot decode this file.'))
    await expect
      .poll(() => second.job.status)
      .toEqual({
        type: 'failed',
        sentence: 'The browser cannot decode this file.',
      })
    jobs.remove(fourth.job)
    expect(types()).toEqual(['3 cancelled', '2 failed', '1 cancelled'])
    expect(fourth.job.status.type).toBe('cancelled')
  })

  it('stop reading when they are cancelled, and stay so', () => {
    const jobs = new Jobs()
    const { job, report, signals } = jobOf('1')
    jobs.add(job)
    report('Reading the file.')
    expect(job.status).toEqual({ type: 'loading', sentence: 'Reading the file.' })
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
    job.cancel()
    report('Reading the file.')
    expect([job.status.type, signals.map(({ aborted }) => aborted)]).toEqual(['cancelled', [true]])
  })

  it('start what is live at once', () => {
    const jobs = new Jobs()
    for (const title of ['1', '2', '3']) jobs.add(jobOf(title).job)
    const { job } = jobOf('Microphone', 'microphone')
    jobs.add(job)
    expect([job.status.type, jobs.live, jobs.find(job.id)]).toEqual(['loading', job, job])
  })

  it('are released when the library has them, but for the newest and the one that is shown', () => {
    const jobs = new Jobs()
    for (const title of ['1', '2', '3', '4', '5', '6', '7', '8']) {
      const { job } = jobOf(title)
      job.isKept = title !== '1'
      jobs.add(job)
    }
    const [, , , , , , shown] = jobs.all
    jobs.release(shown)
    expect(jobs.all.map(({ title }) => title)).toEqual(['8', '7', '6', '5', '4', '2', '1'])
  })

  it('have the same document until something changes', () => {
    const { job } = jobOf('1')
    const { document } = job
    expect(job.document).toBe(document)
    expect(document).toMatchObject({ title: '1', origin: 'file', model: 'English', lines: [], speakers: [] })
  })

  it('have failed after a reload, too', () => {
    const { job } = jobOf('1')
    job.status = { type: 'failed', sentence: 'The service cannot be reached.' }
    const kept = new Job(job.document)
    kept.restore({ document: job.document, audio: undefined, events: new Blob(), cassette: undefined })
    expect(kept.status).toEqual(job.status)
    expect(kept.document).toBe(job.document)
  })

  it('have their audio after a reload, too, which is read once', async () => {
    const { document } = new Job({ title: '1', origin: 'file' })
    const samples = Int16Array.from({ length: 16_000 }, (_none, at) => at % 256)
    const header = wavHeader({ encoding: 'pcm', sampleRateHz: 8000, channels: 2 }, samples.byteLength)
    const changed = vi.fn()
    const keptWith = (audio: Blob | undefined): Job => {
      const kept = new Job(document, undefined, changed)
      kept.restore({ document, audio, events: new Blob(), cassette: undefined })
      return kept
    }
    const kept = keptWith(new Blob([new Uint8Array(header), samples]))
    expect(kept.tracks).toEqual([])
    const [tracks, again] = await Promise.all([kept.readTracks(), kept.readTracks()])
    expect(tracks.map(({ durationMs }) => durationMs)).toEqual([1000, 1000])
    expect(again).toBe(tracks)
    expect(kept.tracks).toBe(tracks)
    expect(changed).toHaveBeenCalledOnce()
    const closed = keptWith(new Blob([new Uint8Array(header), samples]))
    closed.close()
    for (const other of [closed, keptWith(undefined), keptWith(new Blob(['RIFF']))])
      expect(await other.readTracks()).toEqual([])
  })

  it('keep what a person has chosen with them', () => {
    const { plan } = jobOf('1').job
    if (plan === undefined) throw new Error('It has no plan.')
    const recognition = { phrases: ['harbor grill'], language: 'en', reject: 'high' } as const
    const { document } = new Job({ title: '1', origin: 'file' }, { ...plan, recognition })
    expect(document.recognition).toEqual(recognition)
    const kept = new Job(document)
    kept.restore({ document, audio: undefined, events: new Blob(), cassette: undefined })
    expect(kept.document.recognition).toEqual(recognition)
  })
})

describe('the address of the page', () => {
  it('names its screen', () => {
    expect(['', '#', '#sessions', '#transcript=1f-a2', '#transcript=', '#transcript=a/b'].map(screenOf)).toEqual([
      { type: 'start' },
      { type: 'start' },
      { type: 'operations' },
      { type: 'session', id: '1f-a2' },
      { type: 'start' },
      { type: 'start' },
    ])
  })
})

describe('the model that is chosen', () => {
  const models = [
    { name: 'animals', version: '1', reads: 'sentences of animals.gram' },
    { name: 'English', version: '1', reads: 'any English speech' },
  ]

  it('is the one that was chosen before, or one for any speech', () => {
    expect(preferredModel(models, undefined)).toBe(1)
    expect(preferredModel(models, '/animals/1')).toBe(0)
    expect(preferredModel(models, '/gone/1')).toBe(1)
    expect(preferredModel(models.slice(0, 1), undefined)).toBe(-1)
  })

  it('gets of the options only those that it has', () => {
    const chosen = { phrases: ['harbor grill'], language: 'de', reject: 'high' } as const
    const [animals = { name: '', version: '' }, english = animals] = models
    expect(optionsFor(animals, chosen)).toEqual({ phrases: ['harbor grill'], reject: 'high' })
    expect(optionsFor({ ...english, takesPhrases: false, languages: ['en'] }, chosen)).toEqual({})
    expect(optionsFor({ ...english, languages: ['de', 'en'] }, chosen)).toEqual({
      phrases: ['harbor grill'],
      language: 'de',
    })
    expect(optionsFor(english, {})).toEqual({})
  })
})
