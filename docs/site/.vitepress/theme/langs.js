// In place of a module of VitePress: the menu of languages leads to the same page in the other
// language only where there is one, and else to its first page.

import { computed } from "vue";
import { useData } from "vitepress";

export function useLangs({ correspondingLink = false } = {}) {
  const { site, localeIndex, page, theme } = useData();
  const locale = key => ({
    label: site.value.locales[key].label,
    link: site.value.locales[key].link ?? "/",
  });
  const currentLang = computed(() => locale(localeIndex.value));
  const localeLinks = computed(() =>
    Object.keys(site.value.locales).filter(key => key !== localeIndex.value).map(key => ({
      text: locale(key).label,
      link: (correspondingLink && twin(page.value.relativePath, theme.value.chinese)) || locale(key).link,
    })));
  return { localeLinks, currentLang };
}

function twin(place, chinese) {
  const isChinese = place.startsWith("zh/");
  const other = isChinese ? place.slice(3) : `zh/${place}`;
  if (!isChinese && !chinese.includes(other)) return undefined;
  return `/${other}`.replace(/(^|\/)index\.md$/, "$1").replace(/\.md$/, ".html");
}
