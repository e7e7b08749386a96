import { badge, h, size, time } from "./dom.js"

/** What a version was made from and what the scan made of it. */
export const releaseFacts = ({
  archive,
  createdAt,
  name,
  namespace,
  publishedAt,
  ref,
  signed,
  source,
  submittedBy,
  verdict,
  version
}) => [
  ["Released as", ref === `${namespace}/${name}@${version}` ? undefined : ref],
  ["Submitted", [time(createdAt), ` by ${submittedBy}`]],
  ["Published", publishedAt === null ? undefined : time(publishedAt)],
  ["Verdict", verdict === undefined ? undefined : [badge(verdict), signed ? " signed" : " not signed"]],
  [
    "Source",
    source.commit === null
      ? "uploaded"
      : [
          "commit ",
          h("code", { class: "break" }, source.commit),
          " of ",
          h("code", { class: "break" }, new URL(source.url, location.origin).href)
        ]
  ],
  [
    "Archive",
    [
      h("a", { href: archive.href, download: `${name}-${version}.tar.gz` }, size(archive.bytes)),
      " ",
      h("code", { class: "break" }, archive.digest)
    ]
  ]
]
