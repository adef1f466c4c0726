// What the site itself says, in both languages.

export const WORDS = {
  en: {
    lang: "en",
    chapters: "The chapters",
    solutions: "The solutions",
    groups: ["For students", "For instructors", "Working on the lab"],
    leftOut: "Only the instructors' edition has this page.",
    english: "",
    line: (file, line) => `${file}, line ${line}`,
    download: to =>
      `These pages explain the lab. To write a server and grade it, you need the lab itself: ` +
      `<a href="${to}" download>lab.tar.gz</a>. In the directory where you saved it:`,
    clone: "Or get it with git:",
    then: "You are now in the directory of the lab. All commands of these pages are typed there.",
    timeline: "A server that makes this mistake, as `make trace` shows it. Point at a mark to see the call.",
    alt: "A timeline of this failure; the text below says the same.",
    asText: "The failure, and the timeline as text",
    states:
      "One connection of the solution, step by step. The solution ran, and a small file that was linked " +
      "with it (`harness/authors/pictures/states.c`) told what `struct conn` held after each call. The lab's " +
      "library let the first `send()` take 4 bytes only, as a full buffer of the kernel does.",
    allSteps: "All steps",
    actions: {},
    step: ["the client", "`poll()` reports", "the call", "bytes in", "the frame so far", "state", "interest", "bytes out"],
    stepper: { back: "back", forward: "forward", of: "step {} of {}", sent: "sent", none: "none" },
  },
  zh: {
    lang: "zh-CN",
    chapters: "各章",
    solutions: "参考答案",
    groups: ["给学生", "给教师", "维护实验"],
    leftOut: "只有教师版有这一页。",
    english: "（英文）",
    behind: english => `这一页译自英文页的旧版本。英文页在此之后有改动，以[英文页](${english})为准。`,
    line: (file, line) => `${file} 第 ${line} 行`,
    download: to =>
      `这些网页讲解实验。要写服务器并给它评分，还需要实验本身：` +
      `<a href="${to}" download>lab.tar.gz</a>。在保存它的目录里运行：`,
    clone: "或者用 git 取得：",
    then: "现在你在实验的目录里。网页中的命令都在这里输入。",
    timeline: "犯了这个错误的服务器，用 `make trace` 看到的样子。指向一个标记，可以看到那次调用。",
    alt: "这次失败的时间线；下面的文字说的是同样的内容。",
    asText: "失败信息，以及用文字表示的时间线",
    states:
      "参考答案里的一个连接，可以一步一步地看。这些内容来自一次真实的运行：一个小文件" +
      "（`harness/authors/pictures/states.c`）与参考答案链接在一起，报告每次调用之后 `struct conn` 里有什么。" +
      "实验的库让第一次 `send()` 只接受 4 个字节，内核的缓冲区满了就会这样。",
    allSteps: "所有步骤",
    // The texts of docs/states/*.json, up to the bytes.
    actions: {
      "A connects": "A 连接",
      "A sends half of the header": "A 发送帧头的一半",
      "A sends the other half, and 2 bytes of the body": "A 发送帧头的另一半，以及帧体的 2 个字节",
      "A sends the remainder of the body": "A 发送帧体的其余部分",
      "A half-closes: it sends no more": "A 半关闭：它不再发送",
      "the listener": "监听描述符",
    },
    step: ["客户端", "`poll()` 报告", "调用", "收到的字节", "到目前为止的帧", "状态", "关注", "发出的字节"],
    stepper: { back: "后退", forward: "前进", of: "第 {} 步，共 {} 步", sent: "已发送", none: "无" },
  },
};

// What a timeline says, as ENGLISH in harness/student/trace/timeline.js.
export const CHINESE_TIMELINE = {
  closer: "放大",
  farther: "缩小",
  whole: "全部",
  failure: "失败的地方",
  keys: ["客户端", "服务器", "已发送，还没有读", "已读，还没有发回", "在返回途中"],
  marks: "各种标记的含义",
  how:
    "每个事件一列，按发生的顺序排列；标尺给出毫秒数。在一个连接的行里，上面是客户端做的事，下面是服务器的调用；" +
    "与连接无关的调用在循环的行里。指向一个标记，可以看到那次调用和它的字节。按住 Ctrl 滚动滚轮可以缩放。",
  legend: {
    connect: "客户端连接",
    send: "客户端发送",
    recv: "客户端收到字节",
    end: "客户端半关闭、关闭，或者看到结尾",
    silence: "客户端等过了，什么也没有来",
    signal: "评分程序发出一个信号",
    accept: "服务器接受连接，或者做另一个调用",
    wait: "服务器等待；每个就绪的连接有一条线",
    more: "这条线末端的横线：输入结束、挂断、错误或者紧急数据",
    read: "服务器读",
    write: "服务器写",
    close: "服务器关闭",
    again: "EAGAIN：没有数据，或者没有空间",
    error: "别的错误",
    fault: "评分程序让它失败，或者截短了它",
    times: "连续这么多次",
    lost: "不知道的调用",
  },
  at: (from, to, took) => `在 ${from} 毫秒${to === null ? "" : `到 ${to} 毫秒`}${took === null ? "" : `，用了 ${took} 毫秒`}`,
  made: "；是评分程序让它这样的",
  levels: ([unread, held, back]) => `之后有 ${unread} 个字节等待读取，${held} 个在服务器手中，${back} 个在返回途中`,
  loop: "循环",
  server: "服务器",
  gap: count => `……还有 ${count} 个……`,
};

// The theme's own words; in English they are those of VitePress.
export const CHINESE_THEME = {
  outline: { level: [2, 3], label: "本页目录" },
  docFooter: { prev: "上一页", next: "下一页" },
  darkModeSwitchLabel: "外观",
  lightModeSwitchTitle: "切换到浅色",
  darkModeSwitchTitle: "切换到深色",
  sidebarMenuLabel: "目录",
  returnToTopLabel: "回到顶部",
  langMenuLabel: "切换语言",
  skipToContentLabel: "跳到正文",
  notFound: {
    title: "没有这一页",
    quote: "链接可能写错了，或者这一版没有这一页。",
    linkLabel: "回到首页",
    linkText: "回到首页",
  },
};

export const CHINESE_SEARCH = {
  button: { buttonText: "搜索", buttonAriaLabel: "搜索" },
  modal: {
    displayDetails: "显示详细列表",
    resetButtonTitle: "清除",
    backButtonTitle: "关闭搜索",
    noResultsText: "没有找到",
    footer: {
      selectText: "选择",
      selectKeyAriaLabel: "回车",
      navigateText: "移动",
      navigateUpKeyAriaLabel: "上箭头",
      navigateDownKeyAriaLabel: "下箭头",
      closeText: "关闭",
      closeKeyAriaLabel: "Esc",
    },
  },
};
