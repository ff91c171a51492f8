import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { cards, run, sampleCall } from './command.js'
import { runInProcess } from './in-process.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const folder = temporaryFolder()
let folders = 0
const made = (name: string, bytes: Uint8Array | string): string => {
  writeFileSync(join(folder, name), bytes)
  return join(folder, name)
}

const folderOfNothing = join(tmpdir(), 'never-created')

/** One sentence that begins with the program's name, no stack, nothing on stdout. */
const refused = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const { code, stdout, stderr } = await runInProcess(args, { env })
  expect(stderr).toMatch(/^rxspeech: [^\n]+[.?]\n$/)
  expect(stdout).toBe('')
  return { code, sentence: stderr.slice('rxspeech: '.length, -1) }
}

const secret = 'hunter2-hunter2-hunter2'

describe('a process that fails', () => {
  it('says that a service needs to generate code, where that is forbidden', async () => {
    const env = { NODE_OPTIONS: '--disallow-code-generation-from-strings' }
    const { code, stderr } = await run(['serve', '--dev', '--state', join(folder, 'state')], { env })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^rxspeech: A service needs packages of gRPC that generate code.*start it without/,
      ) as unknown,
    })
  })

  it.each<[number, string[]]>([
    [1, ['token', '--auth-url', 'https://127.0.0.1:9', '--client-id', 'a', '--client-secret', secret]],
    [2, ['transcibe']],
    [3, ['transcribe', '-']],
  ])('exits with %i and one sentence', async (expected, args) => {
    const { code, stdout, stderr } = await run(args)
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
    expect(stderr).toMatch(/^rxspeech: [^\n]+[.?]\n$/)
  })
})

describe('an invalid command line exits with 2 and explains what to do', () => {
  it.each<[string, string[], RegExp]>([
    ['an unknown command', ['transcibe'], /did you mean transcribe\?/],
    ['help about an unknown command', ['help', 'nope'], /^Unknown command 'nope'; rxspeech --help shows the usage/],
    ['help about a mistyped command', ['help', 'transcibe'], /did you mean transcribe\?/],
    ['an unknown subcommand', ['models', 'nope'], /^Unknown command 'nope'; rxspeech models --help shows the usage/],
    ['help about an unknown subcommand', ['help', 'models', 'nope'], /^Unknown command 'nope'/],
    [
      'two addresses without a transport',
      ['transcribe', 'a.wav', '--url', 'wss://a', '--grpc', 'a:1', '--token', 't', '--model', 'm'],
      /--over grpc or --over websocket/,
    ],
    ['a port that is too high', ['serve', '--http', '127.0.0.1:99999'], /port.*65535.*not "127\.0\.0\.1:99999"/],
    ['a URL to listen on', ['serve', '--http', 'https://a'], /--http must be HOST:PORT.*not "https:\/\/a"/],
    ['a gRPC address of another scheme', ['transcribe', 'a.wav', '--grpc', 'https://a'], /not "https:\/\/a"/],
    [
      'a gRPC address with TLS in plain text',
      ['transcribe', 'a.wav', '--grpc', 'grpcs://localhost:1', '--token', 't', '--plaintext'],
      /--plaintext .* grpcs:\/\//,
    ],
    ['subscriptions of a missing folder', ['subscription', 'list', '--state', '/nope'], /^\/nope does not exist; /],
    ['an unknown option', ['transcribe', 'a.wav', '--modle', 'x'], /did you mean --model/],
    ['one side of a call', ['transcribe', '--merge', 'a.wav'], /--merge takes two files, .*; there is one/],
    ['a side of a call on stdin', ['transcribe', '--merge', 'a.wav', '-'], /--merge takes two files/],
    ['a folder of sides of calls', ['transcribe', '--merge', '--watch', '.'], /--merge is for two files; omit it/],
    ['an option without a value', ['transcribe', 'a.wav', '--rate'], /argument missing/],
    [
      'a file that looks like an option',
      ['transcribe', '-a.wav'],
      /^Unknown option '-a\.wav'; type \.\/-a\.wav if it is/,
    ],
    ['no file', ['transcribe'], /missing required argument 'file'; rxspeech transcribe --help shows/i],
    [
      'captions of two files on stdout',
      ['transcribe', 'a.wav', 'b.wav', '--format', 'srt'],
      /^The srt of several recordings needs a file for each; set --output-dir/,
    ],
    [
      'a cassette of two sessions',
      ['transcribe', 'a.wav', 'b.wav', '--record', 'a.jsonl'],
      /^--record is for one recording/,
    ],
    [
      'two files of one name',
      ['transcribe', 'a/call.wav', 'b/call.wav', '--output-dir', folderOfNothing],
      /^a\/call.wav and b\/call.wav would both belong to call.txt/,
    ],
    [
      'a transcript in place of the recording',
      ['transcribe', 'a.txt', '--encoding', 'pcm', '--rate', '8000', '--output-dir', '.'],
      /^a.txt is a recording; choose another --output-dir/,
    ],
    [
      'a cassette in place of the recording',
      ['transcribe', 'a.wav', '--record', './a.wav'],
      /^\.\/a\.wav is a recording; choose another file for --record/,
    ],
    [
      'transcripts in place of what they are compared with',
      ['transcribe', 'a.wav', 'b.wav', '--reference', 'texts', '--output-dir', 'texts/'],
      /^texts\/a\.txt is a text of --reference; choose another --output-dir/,
    ],
    [
      'a transcript in place of the one that it is compared with',
      ['transcribe', 'a.wav', '--reference', 'texts/a.txt', '--output-dir', 'texts'],
      /^texts\/a\.txt is a text of --reference; choose another --output-dir/,
    ],
    ['a reference of two files', ['transcribe', 'a.wav', 'b.wav', '--reference', sampleCall], /must be a folder/],
    [
      'a folder that is a file',
      ['transcribe', 'a.wav', '--output-dir', sampleCall],
      /is a file; choose another folder/,
    ],
    ['a folder of the system', ['transcribe', 'a.wav', '--output-dir', '/proc/x/y'], /cannot be created \(ENOENT\)/],
    [
      'a folder that cannot be',
      ['transcribe', 'a.wav', '--output-dir', '/dev/null/x'],
      /cannot be created \(ENOTDIR\)/,
    ],
    [
      'a folder above that of the models',
      ['transcribe', 'a.wav', '--models', 'samples'],
      /^There is no model in samples, .* pass samples\/models, in which there is Default\/call\/1\.$/,
    ],
    [
      'a rate that is not a number',
      ['transcribe', 'a.raw', '--encoding', 'pcm', '--rate', 'abc'],
      /--rate .* not "abc"/,
    ],
    ['raw samples without a rate', ['transcribe', 'a.raw', '--encoding', 'pcm'], /set it with --rate/],
    ['a speed of none', ['transcribe', 'a.wav', '--speed', '0'], /--speed must be .* max/],
    ['an unknown transport', ['transcribe', 'a.wav', '--over', 'http'], /--over must be grpc or websocket/],
    [
      'an address without credentials',
      ['transcribe', 'a.wav', '--grpc', 'localhost:1'],
      /--auth-url .* RXSPEECH_TOKEN/,
    ],
    ['credentials without an address', ['transcribe', 'a.wav', '--client-id', 'a'], /--grpc or --url/],
    [
      'a socket without an address',
      ['transcribe', 'a.wav', '--over', 'websocket', '--grpc', 'a:1', '--token', 't'],
      /--url/,
    ],
    [
      'a folder of models that does not exist',
      ['transcribe', sampleCall, '--models', '/nowhere'],
      /\/nowhere does not exist/,
    ],
    [
      'a model that does not exist',
      ['transcribe', sampleCall, '--models', cards, '--model', 'dice'],
      /no model "dice".*cards/,
    ],
    ['a token without an endpoint', ['token'], /--auth-url/],
    ['plain text to another host', ['serve', '--http', '0.0.0.0:0'], /--cert and --key/],
    ['a development service on another host', ['serve', '--dev', '--grpc', '[::]:0'], /127\.0\.0\.1/],
    ['an address to listen on without a port', ['serve', '--dev', '--http', 'localhost'], /HOST:PORT/],
  ])('for %s', async (_what, args, sentence) => {
    const refusal = await refused(args)
    expect(refusal.sentence).toMatch(sentence)
    expect(refusal.code).toBe(2)
  })

  it.each<[string, (name: string) => string[], RegExp]>([
    [
      'models',
      (name) => ['--models', join(folder, 'none', name)],
      /^The folder of models \S+ does not exist; create it, /,
    ],
    [
      'models',
      (name) => ['--dev', '--models', made(name, '')],
      /^The folder of models \S+ is a file; name the folder /,
    ],
    [
      'models',
      (name) => {
        mkdirSync(join(folder, name))
        return ['--dev', '--models', join(folder, name)]
      },
      /^There is no model in \S+, as \S+; pass .* or make one with: rxspeech models add NAME --phrases FILE --models \S+\.$/,
    ],
    ['models', () => ['--models', 'samples'], /pass samples\/models, in which there is Default\/call\/1\.$/],
    ['projects', (name) => ['--projects', join(folder, 'none', name)], /^The folder of projects \S+ does not exist; /],
    ['recordings', (name) => ['--recordings', made(name, '')], /^The folder of recordings \S+ is a file; /],
    [
      'recordings',
      (name) => {
        symlinkSync(name, join(folder, name))
        return ['--recordings', join(folder, name)]
      },
      /^The folder of recordings \S+ cannot be read \(ELOOP\); name another\.$/,
    ],
    ['state', (name) => ['--state', made(name, '')], /^--state names \S+, which cannot be used as a folder; /],
  ])('for a folder of %s that a service cannot use, before anything listens', async (_what, argsFor, sentence) => {
    folders += 1
    const state = join(folder, `state-${folders}`)
    const refusal = await refused(['serve', '--state', state, ...argsFor(`unusable-${folders}`)])
    expect(refusal.sentence).toMatch(sentence)
    expect(refusal.code).toBe(2)
  })

  it.each([['serve'], ['doctor'], ['engine']])('%s, for a configuration that is not text', async (command) => {
    const { code, sentence } = await refused([command, '--config', made('binary.yaml', Uint8Array.of(0x41, 0xff))])
    expect(sentence).toMatch(/^--config names \S+binary\.yaml, which is not text in UTF-8; save it as UTF-8\.$/)
    expect(code).toBe(2)
  })

  it('for no command at all, with the help on stderr', async () => {
    const { code, stdout, stderr } = await runInProcess([])
    expect(stderr).toMatch(/^Usage: rxspeech/)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })

  it('for a secret that is too short to serve with', async () => {
    const { code, sentence } = await refused(['serve', '--client-id', 'a'], { RXSPEECH_CLIENT_SECRET: 'short' })
    expect(sentence).toMatch(/at least 16 characters/)
    expect(code).toBe(2)
  })
})

describe('an input that cannot be read exits with 3', () => {
  it('for a project that is not text', async () => {
    const refusal = await refused(['project', 'check', made('binary.yaml', Uint8Array.of(0x41, 0xff))])
    expect(refusal.sentence).toMatch(/binary\.yaml is not text in UTF-8; pass a project file\.$/)
    expect(refusal.code).toBe(3)
  })

  it.each<[string, () => string[], RegExp]>([
    ['a file that does not exist', () => ['/nowhere.wav'], /does not exist/],
    ['a folder', () => [folder], /has no recordings, such as \.wav/],
    ['a pattern', () => [join(folder, 'nothing*.wav')], /nothing\*\.wav matches no file; check the pattern\.$/],
    ['a name that is not in UTF-8', () => [join(folder, 'caf\ufffd.wav')], /is not in UTF-8; rename it\.$/],
    [
      'a link to nothing',
      () => {
        symlinkSync(join(folder, 'gone.wav'), join(folder, 'link.wav'))
        return [join(folder, 'link.wav')]
      },
      /link\.wav is a broken link; pass a file\.$/,
    ],
    ['an empty file', () => [made('empty.wav', '')], /is empty/],
    ['an empty raw file', () => [made('empty.raw', ''), '--encoding', 'pcm', '--rate', '8000'], /is empty/],
    [
      'a text',
      () => [made('text.wav', '<!doctype html>\n<title>Not found – 404</title>')],
      /text\.wav is text; pass a rec/,
    ],
    [
      'a file of an unknown kind',
      () => [made("o'dd.bin", '\u0001\u0002\u0003\u0004 and further bytes')],
      /ffmpeg -i '[^ ]*\/o'\\''dd\.bin' -ar 16000 -c:a pcm_s16le '[^ ]*\/o'\\''dd\.wav' converts it; for raw samples set --encoding/,
    ],
    [
      'a RIFX file',
      () => [made('big.wav', 'RIFX\u0000\u0000\u0000\u0004WAVE')],
      /This is RIFX, not a RIFF\/WAVE file; sox \S+\/big\.wav -r 16000 -e signed-integer -b 16 \S+\/big-converted\.wav converts it\.$/,
    ],
    [
      'an MP3 file',
      () => [made('song.mp3', 'ID3\u0003\u0000')],
      /This is MP3, not a RIFF\/WAVE file; ffmpeg -i \S+\/song\.mp3 -ar 16000 -c:a pcm_s16le \S+\/song\.wav converts it\. With ffmpeg on the PATH it is read as it is\.$/,
    ],
    [
      'a WAV file of five channels',
      () => {
        const bytes = Buffer.from(wavHeader({ encoding: 'pcm', sampleRateHz: 16_000, channels: 1 }, 640))
        bytes.writeUInt16LE(5, 22)
        return [made('five.wav', bytes)]
      },
      /5 channels; .* ffmpeg -i \S+five\.wav -ac 1 -ar 16000 -c:a pcm_s16le \S+\/five-converted\.wav mixes them, or with -af 'pan=stereo\|c0=c0\|c1=c1' in place of -ac 1 takes the first two\.$/,
    ],
    ['a WAV file without samples', () => [made('bare.wav', 'RIFF\u0004\0\0\0WAVE')], /bare\.wav: .*data chunk/],
    ['nothing on standard input', () => ['-'], /Standard input is empty/],
  ])('for %s', async (_what, args, sentence) => {
    const refusal = await refused(['transcribe', ...args()])
    expect(refusal.sentence).toMatch(sentence)
    expect(refusal.code).toBe(3)
  })

  it('for raw samples that end within a sample, after all preceding results', async () => {
    const file = made('odd.raw', new Uint8Array(1601))
    const { code, stderr } = await runInProcess(['transcribe', file, '--encoding', 'pcm', '--rate', '8000'])
    expect(stderr).toMatch(/odd\.raw ends within a sample: 1 of the 2 bytes/)
    expect(code).toBe(3)
  })
})

describe('a service that fails exits with 1', () => {
  const nobody = ['--token', 'any', '--timeout-ms', '2000']

  it.each<[string, string[]]>([
    ['gRPC', ['--grpc', '127.0.0.1:9']],
    ['WebSocket', ['--url', 'wss://127.0.0.1:9', '--model', 'call']],
  ])('where nothing listens, over %s', async (_over, address) => {
    const { code, sentence } = await refused(['transcribe', sampleCall, ...address, ...nobody])
    expect(sentence).toMatch(/nothing listens at 127\.0\.0\.1:9/i)
    expect(code).toBe(1)
  })

  it('at the token endpoint, with the flag to look at', async () => {
    const args = ['token', '--auth-url', 'https://127.0.0.1:9', '--client-id', 'a']
    const { code, sentence } = await refused(args, { RXSPEECH_CLIENT_SECRET: secret })
    expect(sentence).toMatch(/ECONNREFUSED.*--auth-url/)
    expect(code).toBe(1)
  })
})

describe('secrets', () => {
  it.each<[string[]]>([
    [['demo', `--client-secret=${secret}`]],
    [['transcribe', 'a.wav', '--client-secret', secret]],
    [['transcribe', 'a.wav', '--grpc', 'localhost:1', '--client-secret', secret]],
    [['models', 'list', secret]],
    [['transcribe', 'a.wav', '--grpc', '127.0.0.1:9', '--token', `${secret} ü`]],
    [['token', '--auth-url', 'https://127.0.0.1:9', '--client-id', 'a', '--client-secret', secret]],
    [['token', '--auth-url', `https://user:${secret}@127.0.0.1:9`, '--client-id', 'a']],
  ])('are not repeated: %j', async (args) => {
    const { stdout, stderr } = await runInProcess(args)
    expect(stdout + stderr).not.toContain('hunter2')
  })
})
