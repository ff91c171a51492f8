import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { firstValueFrom, lastValueFrom, take, toArray, type Subscription } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { commandMicrophone } from '../../src/microphone/command-microphone.js'
import { findRecordingCommand } from '../../src/microphone/recording-programs.js'
import { longIt } from '../thorough.js'
import { folderOfTest } from '../temporary-folder.js'
import { isRunning } from '../is-running.js'

let folder: string
beforeEach(() => {
  folder = folderOfTest()
})
afterEach(() => {
  vi.unstubAllEnvs()
})

/** Installs a program, a script of the shell, and makes it the only one of its kind in PATH. */
const install = (name: string, script = ''): string => {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`)
  chmodSync(path, 0o755)
  vi.stubEnv('PATH', folder)
  return path
}

const shell = (script: string): readonly string[] => ['/bin/sh', '-c', script]
const audioOf = (script: string, options = {}): Promise<Uint8Array[]> =>
  lastValueFrom(commandMicrophone({ command: shell(script), ...options }).pipe(toArray()))
describe('commandMicrophone', () => {
  it('emits what the program records in pieces of 20 ms, with the rest at its end', async () => {
    const pieces = await audioOf(`printf '%01300d' 7`)
    expect(pieces.map(({ byteLength }) => byteLength)).toEqual([640, 640, 20])
    expect(Buffer.concat(pieces).toString()).toMatch(/^0{1299}7$/)
    const stereo = await audioOf(`printf '%01280d' 7`, { sampleRateHz: 8000, channels: 2 })
    expect(stereo.map(({ byteLength }) => byteLength)).toEqual([640, 640])
  })

  it('starts the program for each subscription, and ends it with the subscription', async () => {
    const pids = join(folder, 'pids')
    const voice$ = commandMicrophone({ command: shell(`echo $$ >> ${pids}; head -c 640 /dev/zero; exec sleep 60`) })
    expect(existsSync(pids)).toBe(false)
    for (let n = 0; n < 2; n += 1) expect((await firstValueFrom(voice$)).byteLength).toBe(640)
    const started = readFileSync(pids, 'utf8').trim().split('\n').map(Number)
    expect(started).toHaveLength(2)
    await expect.poll(() => started.map(isRunning)).toEqual([false, false])
  })

  longIt('ends by force a program that ignores its end', async () => {
    const pids = join(folder, 'pids')
    const script = `trap '' TERM PIPE; echo $$ > ${pids}; head -c 640 /dev/zero; while :; do sleep 0.1; done`
    await firstValueFrom(commandMicrophone({ command: shell(script) }))
    const pid = Number(readFileSync(pids, 'utf8'))
    expect(isRunning(pid)).toBe(true)
    await expect.poll(() => isRunning(pid)).toBe(false)
  })

  it('starts nothing if it is unsubscribed at once', async () => {
    const started = join(folder, 'started')
    commandMicrophone({ command: shell(`touch ${started}`) })
      .subscribe()
      .unsubscribe()
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(existsSync(started)).toBe(false)
  })

  it('reports its states and levels', async () => {
    const voice$ = commandMicrophone({ command: shell(`printf '\\000\\100'; head -c 638 /dev/zero; exec sleep 60`) })
    const states: string[] = []
    const peaks: number[] = []
    const watching: Subscription = voice$.state$.subscribe((state) => states.push(state))
    watching.add(voice$.levels$.subscribe(({ peak }) => peaks.push(peak)))
    await firstValueFrom(voice$)
    watching.unsubscribe()
    expect(states).toEqual(['idle', 'requesting', 'live', 'idle'])
    expect(peaks).toEqual([expect.closeTo(0.5, 3)])
    expect(voice$.format).toEqual({ encoding: 'pcm', sampleRateHz: 16_000, channels: 1 })
  })

  it.each([
    [
      'an exit code without audio',
      `echo 'wrong argument' >&2; exit 2`,
      'source-failed',
      /ended with exit code 2 without audio: wrong argument$/,
    ],
    ['success without audio', `exit 0`, 'source-failed', /ended with exit code 0 without audio\.$/],
    ['a signal', `kill -9 $$`, 'source-failed', /ended by SIGKILL without audio\.$/],
    [
      'a busy device',
      `echo 'arecord: main:850: audio open error: Device or resource busy' >&2; exit 1`,
      'microphone-busy',
      /busy$/,
    ],
    [
      'a device that is not there',
      `echo 'ALSA lib: Unknown PCM x' >&2; echo 'audio open error: No such file or directory' >&2; exit 1`,
      'microphone-missing',
      /No such file or directory$/,
    ],
    [
      'a device that is not allowed',
      `echo 'audio open error: Permission denied' >&2; exit 1`,
      'microphone-denied',
      /Permission denied$/,
    ],
    [
      'a failure after audio',
      `head -c 640 /dev/zero; echo 'read error: No such device' >&2; exit 1`,
      'microphone-lost',
      /ended with exit code 1: read error: No such device$/,
    ],
  ])('fails for %s', async (_title, script, code, message) => {
    await expect(audioOf(script)).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  })

  it('emits the audio before a failure', async () => {
    const pieces: number[] = []
    await new Promise<void>((failed) => {
      commandMicrophone({ command: shell(`head -c 700 /dev/zero; exit 1`) }).subscribe({
        next: ({ byteLength }) => pieces.push(byteLength),
        error: () => failed(),
      })
    })
    expect(pieces).toEqual([640, 60])
  })

  it('fails if no audio comes in time, at the start and later, and ends the program', async () => {
    const endsInTime = async (audio: string, name: string): Promise<void> => {
      const pids = join(folder, name)
      const script = `echo $$ > ${pids}; ${audio} exec sleep 60`
      // A busy machine needs a part of it to start the program, which tells its number first.
      await expect(audioOf(script, { audioTimeoutMs: 3_000 })).rejects.toMatchObject({
        code: 'source-failed',
        message: '/bin/sh delivered no audio for 3000 ms; check the device and the arguments.',
      })
      const pid = Number(readFileSync(pids, 'utf8'))
      await expect.poll(() => isRunning(pid)).toBe(false)
    }
    await Promise.all([endsInTime('', 'at-start'), endsInTime('head -c 640 /dev/zero;', 'later')])
  })

  it('keeps only the end of a long standard error', async () => {
    const script = `head -c 1000000 /dev/zero | tr '\\0' 'x' >&2; echo >&2; echo 'the reason' >&2; exit 1`
    await expect(audioOf(script)).rejects.toMatchObject({ message: expect.stringMatching(/: the reason$/) })
  })

  it('fails with missing-dependency for a program that is not installed', async () => {
    await expect(lastValueFrom(commandMicrophone({ command: ['no-such-program'] }))).rejects.toMatchObject({
      code: 'missing-dependency',
      message: 'There is no program no-such-program in PATH; install it.',
    })
  })

  it('fails with missing-dependency if no program is given and none is in PATH, and names those that can record', async () => {
    vi.stubEnv('PATH', folder)
    await expect(lastValueFrom(commandMicrophone())).rejects.toMatchObject({
      code: 'missing-dependency',
      message: expect.stringMatching(/^Install .*ffmpeg or sox, or set command/),
    })
  })

  it.runIf(process.platform === 'linux')('records with the program that it finds', async () => {
    install('arecord', `printf '%s\\n' "$*"; exec head -c 620 /dev/zero`)
    const text = await firstValueFrom(commandMicrophone({ sampleRateHz: 8000, deviceName: 'plughw:1' }).pipe(take(1)))
    expect(Buffer.from(text).toString()).toMatch(
      /^--quiet --file-type=raw --format=S16_LE --rate=8000 --channels=1 --period-time=20000 --device=plughw:1\n/,
    )
  })

  it.each([
    ['an empty command', { command: [] }, 'command must begin with the name of a program.'],
    [
      'a command with a device',
      { command: ['x'], deviceName: 'y' },
      'deviceName does not go with command; name the device in its arguments.',
    ],
    ['another rate', { sampleRateHz: 44_100 }, 'sampleRateHz must be 8000 or 16000, not 44100.'],
    ['no time', { audioTimeoutMs: 0 }, expect.stringContaining('audioTimeoutMs must be')],
  ])('refuses options: %s', (_title, options, message) => {
    expect(() => commandMicrophone(options as never)).toThrow(
      expect.objectContaining({ code: 'invalid-options', message }),
    )
  })
})

describe('the program that records', () => {
  const recording = { sampleRateHz: 16_000, channels: 1 }

  it('is the first that is installed, on each platform with its own arguments', () => {
    install('sox')
    const [sox = '', ...soxArgs] = findRecordingCommand(recording, 'linux')
    expect([sox, soxArgs.join(' ')]).toEqual([
      'sox',
      '-q --buffer 1024 -t alsa default -t raw -L -e signed-integer -b 16 -r 16000 -c 1 -',
    ])
    install('ffmpeg')
    const line = (platform: NodeJS.Platform, more = {}): string =>
      findRecordingCommand({ ...recording, ...more }, platform).join(' ')
    expect(line('linux')).toContain(
      'ffmpeg -hide_banner -nostdin -loglevel error -f alsa -i default -ac 1 -ar 16000 -f s16le',
    )
    expect(line('darwin', { deviceName: '2' })).toContain('-f avfoundation -i :2 ')
    install('arecord')
    expect(line('linux')).toMatch(/^arecord /)
  })

  it('on Windows is ffmpeg only with the name of a device', () => {
    install('ffmpeg.exe')
    install('sox.exe')
    expect(findRecordingCommand(recording, 'win32').slice(0, 6).join(' ')).toBe('sox -q --buffer 1024 -t waveaudio')
    const named = findRecordingCommand({ ...recording, deviceName: 'Headset' }, 'win32')
    expect(named.join(' ')).toContain('-f dshow -i audio=Headset ')
  })

  it('without a device on Windows says how to list them, unless another program has a default', () => {
    install('ffmpeg.exe')
    expect(() => findRecordingCommand(recording, 'win32')).toThrow(
      expect.objectContaining({
        code: 'invalid-options',
        message:
          'ffmpeg has no default device here; name one. This lists them: ffmpeg -f dshow -list_devices true -i dummy',
      }),
    )
  })

  it('is the one that is named, by its name, its path or as rec', () => {
    const path = install('sox')
    install('arecord')
    const startOf = (program: string): string =>
      findRecordingCommand({ ...recording, program }, 'linux')
        .slice(0, 2)
        .join(' ')
    expect(startOf('sox')).toBe('sox -q')
    expect(startOf('rec')).toBe('sox -q')
    expect(startOf(path)).toBe(`${path} -q`)
    expect(() => startOf('ffmpeg')).toThrow(
      expect.objectContaining({
        code: 'missing-dependency',
        message: 'There is no program ffmpeg in PATH; install it.',
      }),
    )
    expect(() => startOf('/no/such/arecord')).toThrow(
      expect.objectContaining({
        message: 'There is no program /no/such/arecord; install it.',
      }),
    )
    expect(() => startOf('parec')).toThrow(
      expect.objectContaining({
        code: 'invalid-options',
        message: 'parec is none of the programs that record here: arecord, ffmpeg, sox.',
      }),
    )
  })

  it('is none on other platforms', () => {
    install('arecord')
    expect(() => findRecordingCommand(recording, 'aix')).toThrow(
      expect.objectContaining({
        message: 'Set command to a program that records; none was found in PATH.',
      }),
    )
  })
})
