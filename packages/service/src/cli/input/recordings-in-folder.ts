import { readdir, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { codeOf, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { plainText } from '../view/plain-text.js'

/** A recording that was typed or found. */
export interface InputFile {
  /** Its path or address, or `-`. */
  readonly file: string
  /**
   * The name of files that belong to it, without an extension, unless another recording of its folder has the same one;
   * in a folder of recordings with its path there.
   */
  readonly stem: string
}

/** What recordings of folders are called; those after the first two need ffmpeg. */
const extensions: ReadonlySet<string> = new Set(
  (
    'wav wave 3gp aac ac3 aif aiff amr ape au avi caf flac flv m4a m4b m4v mka mkv mov mp3 mp4 mpeg mpg mts mxf oga ogg ' +
    'ogv opus ts w64 webm wma wmv wv'
  )
    .split(' ')
    .map((extension) => `.${extension}`),
)

/**
 * The recordings in a folder and in those below it, sorted by name. Hidden ones are left out, and so are links to
 * folders, which may lead back. A link to a file that does not exist is one of them: opening it gives the error.
 *
 * @param folders receives each folder that is read
 * @param unreadable receives the `source-failed` of a folder that cannot be read
 * @param below the path of the folder in the one that was typed
 */
export async function* recordingsIn(
  folder: string,
  folders: (path: string) => void,
  unreadable: (error: SpeechError) => void,
  below = '',
): AsyncGenerator<InputFile, undefined> {
  folders(folder)
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    const code = codeOf(error) ?? 'unknown'
    // A folder below was removed while this ran.
    if (code === 'ENOENT' && below !== '') return []
    const sentence = `The folder ${plainText(folder)} cannot be read (${code}); change its permissions.`
    unreadable(new SpeechError('source-failed', sentence, { cause: error }))
    return []
  })
  const named = entries.filter(({ name }) => !name.startsWith('.')).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const shared = repeated(named.flatMap(({ name }) => (isRecording(name) ? [withoutExtension(name)] : [])))
  for (const entry of named) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* recordingsIn(path, folders, unreadable, join(below, entry.name))
    else if (isRecording(entry.name) && (entry.isFile() || (await isLink(entry, path)))) {
      const short = withoutExtension(entry.name)
      yield { file: path, stem: join(below, shared.has(short) ? entry.name : short) }
    }
  }
  return undefined
}

const isRecording = (name: string): boolean => extensions.has(extname(name).toLowerCase())

const withoutExtension = (name: string): string => name.slice(0, name.length - extname(name).length)

/** Those that are there more than once. */
const repeated = (names: readonly string[]): ReadonlySet<string> => {
  const once = new Set<string>()
  return new Set(names.filter((name) => once.has(name) || !once.add(name)))
}

/** Whether it is a link, but not to a folder. */
const isLink = async (entry: { readonly isSymbolicLink: () => boolean }, path: string): Promise<boolean> =>
  entry.isSymbolicLink() &&
  (await stat(path).then(
    (found) => found.isFile(),
    () => true,
  ))
