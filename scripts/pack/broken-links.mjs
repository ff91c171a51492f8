// @ts-check
import { readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'

/** The anchor of a heading, as GitHub and npm generate it. @param {string} heading */
const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

/** @param {string} text */
const withoutCode = (text) => text.replaceAll(/^```[^]*?^```/gm, '')

/**
 * The links in the pages of a package whose file or heading is not in the package, as `page: link`, and the source maps
 * that its programs name, also within the texts of other programs, and that are not there. External addresses are not
 * checked.
 *
 * @param {string} folder
 * @param {ReadonlyArray<string>} files in the package
 * @returns {Promise<string[]>}
 */
export const brokenLinks = async (folder, files) => {
  const isThere = (/** @type {string} */ path) =>
    files.includes(path) || files.some((file) => file.startsWith(`${path.replace(/\/$/, '')}/`))
  const headings = async (/** @type {string} */ page) =>
    [...withoutCode(await readFile(join(folder, page), 'utf8')).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
      anchorOf(text),
    )
  const broken = []
  for (const page of files.filter((file) => file.endsWith('.md'))) {
    const text = withoutCode(await readFile(join(folder, page), 'utf8')).replaceAll(/`[^`\n]*`/g, '')
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : normalize(join(dirname(page), path))
      const leads =
        isThere(target) &&
        (anchor === undefined || (target.endsWith('.md') && (await headings(target)).includes(anchor)))
      if (!leads) broken.push(`${page}: ${link}`)
    }
  }
  for (const program of files.filter((file) => /\.(?:[cm]?js|css|d\.ts)$/.test(file))) {
    const text = await readFile(join(folder, program), 'utf8')
    for (const [, map = ''] of text.matchAll(/[/*][#@] sourceMappingURL=([^\s"'`\\*]+)/g)) {
      if (!map.startsWith('data:') && !isThere(normalize(join(dirname(program), map))))
        broken.push(`${program}: ${map}`)
    }
  }
  return broken
}
